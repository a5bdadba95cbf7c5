// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_device.hpp"
#include "runtime/wgpu/wgpu_encode.hpp"
#include "runtime/wgpu/wgpu_groups.hpp"
#include "runtime/wgpu/wgpu_kernels.hpp"
#include "runtime/wgpu/wgpu_pages.hpp"
#include "runtime/wgpu/wgpu_prepared.hpp"
#include "runtime/wgpu/wgpu_scope.hpp"
#include "runtime/wgpu/wgpu_wait.hpp"

namespace berth::runtime {

namespace wgpu {
namespace {

class WgpuBackend final : public Backend {
 public:
  explicit WgpuBackend(const ConnectOptions& options)
      : device_(std::make_shared<Device>(options)),
        pages_(device_),
        kernels_(device_),
        groups_(device_) {}

  ~WgpuBackend() override {
    if (!device_->pumps())
      return;  // the host may pump later, or never: pages are left to the library
    try {
      wait_until(*device_, [&] { return device_->events().completed() >= submitted_; });
    } catch (...) {
      device_->events().lose("The runtime was dropped.");  // lost already: nothing to wait for
    }
  }

  [[nodiscard]] const Capabilities& capabilities() const override {
    return device_->capabilities();
  }

  // Pages.
  [[nodiscard]] Made make_page(const memory::PageRequest& request) override {
    pages_.sweep();
    return pages_.make(request);
  }
  void free_page(memory::PageHandle page) noexcept override {
    groups_.evict(page);
    pages_.free(page);
  }
  [[nodiscard]] Bytes max_page_bytes() const override {
    return capabilities().limits.max_page_bytes;
  }

  // Kernels.
  void compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) override {
    device_->check_alive();
    static_cast<void>(kernels_.get(kernel, variant, in_place_pairs));
  }
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t in_place_pairs) const override {
    return kernels_.compiled(kernel, variant, in_place_pairs);
  }

  // Programs.
  [[nodiscard]] std::unique_ptr<Prepared> prepare(
      std::shared_ptr<const plan::Program> program,
      std::span<const memory::PageHandle> pages) override {
    return std::make_unique<WgpuPrepared>(
        bind_program(*device_, pages_, kernels_, groups_, std::move(program), pages));
  }
  [[nodiscard]] std::unique_ptr<Encoded> encode(Prepared& prepared, const Submission& submission,
                                                void* into) override;
  [[nodiscard]] Ticket submit(std::unique_ptr<Encoded> encoded) override;
  [[nodiscard]] Ticket poll() override {
    if (device_->pumps()) device_->pump();
    pages_.sweep();
    return {device_->events().completed()};
  }
  void wait(Ticket ticket) override {
    if (ticket.value > submitted_) {
      throw Error(ErrorCode::internal,
                  text("Ticket ", ticket.value, " is awaited, and the last submission is ",
                       submitted_.load(), "."));
    }
    // A loss comes first: work of a lost device is reported as done.
    device_->check_alive();
    wait_until(*device_, [&] { return device_->events().completed() >= ticket.value; });
    device_->check_alive();
    throw_uncaptured();
    pages_.sweep();
  }

  // Staging pages.
  void map(memory::PageHandle page) override { pages_.map(page); }
  void wait_mapped(memory::PageHandle page) override {
    device_->check_alive();
    wait_until(*device_, [&] { return pages_.host_state(page) != HostState::mapping; });
    pages_.check_map(page);
    if (pages_.host_state(page) != HostState::mapped) {
      throw Error(ErrorCode::internal,
                  text("Page ", page.value, " is awaited, and nobody asked for its map."));
    }
  }
  [[nodiscard]] HostState host_state(memory::PageHandle page) const override {
    return pages_.host_state(page);
  }
  [[nodiscard]] std::byte* host_data(memory::PageHandle page) override {
    return pages_.host_data(page);
  }
  void unmap(memory::PageHandle page) override { pages_.unmap(page); }

  [[nodiscard]] std::optional<std::string> lost() const override {
    if (!device_->events().is_lost()) return std::nullopt;
    return device_->events().lost_reason();
  }

 private:
  void throw_uncaptured() {
    if (const auto error = device_->events().take_error()) {
      device_->check_alive();
      throw Error(ErrorCode::device, text("The device reported an error: ", one_line(*error)));
    }
  }
  /// Throws Error(internal) unless everything a submission uses is there and the device's.
  void check_submission(const BoundProgram& bound, const Submission& submission) const;
  [[nodiscard]] EncodeInputs::Staging staging(const HostSlice& slice, memory::PageUse use,
                                              Bytes bytes) const;
  [[nodiscard]] EncodeInputs resolve(const BoundProgram& bound, const Submission& submission);
  void resolve_uniforms(const BoundProgram& bound, const Submission& submission,
                        EncodeInputs& inputs);
  void hand_over(WGPUCommandBuffer commands, const Submission& submission);
  void mark_used(const BoundProgram& bound, const Submission& submission);

  std::shared_ptr<Device> device_;
  Pages pages_;
  Kernels kernels_;
  BindGroups groups_;
  std::atomic<std::uint64_t> submitted_{0};
};

std::unique_ptr<Encoded> WgpuBackend::encode(Prepared& prepared, const Submission& submission,
                                             void* into) {
  if (into != nullptr) {
    throw Unsupported("The wgpu runtime does not record into the caller's encoder yet.");
  }
  device_->check_alive();
  auto& ours = static_cast<WgpuPrepared&>(prepared);  // made by our prepare()
  check_submission(*ours.bound(), submission);
  EncodeInputs inputs = resolve(*ours.bound(), submission);
  return std::make_unique<WgpuEncoded>(device_, ours.bound(), submission, std::move(inputs));
}

Ticket WgpuBackend::submit(std::unique_ptr<Encoded> encoded) {
  device_->check_alive();
  throw_uncaptured();
  auto& ours = static_cast<WgpuEncoded&>(*encoded);  // made by our encode()
  // Again: a page may have been freed or mapped since it was encoded.
  check_submission(ours.bound(), ours.submission());
  WGPUCommandBuffer commands = ours.finish();
  hand_over(commands, ours.submission());
  mark_used(ours.bound(), ours.submission());
  return {submitted_};
}

void WgpuBackend::check_submission(const BoundProgram& bound, const Submission& submission) const {
  const plan::Program& program = *bound.program;
  for (const memory::PageHandle page : bound.pages) {
    static_cast<void>(pages_.get(page, "a page of a prepared program"));
  }
  if (submission.uniforms.size() != program.uniform_bytes ||
      submission.grids.size() != program.grids || submission.uploads.size() != program.uploads ||
      submission.readbacks.size() != program.readbacks) {
    throw Error(
        ErrorCode::internal,
        text("A program of ", program.uniform_bytes, " uniform bytes, ", program.grids, " grids, ",
             program.uploads, " uploads and ", program.readbacks, " readbacks was given ",
             submission.uniforms.size(), ", ", submission.grids.size(), ", ",
             submission.uploads.size(), " and ", submission.readbacks.size(), "."));
  }
  for (const Step& step : bound.steps) {
    if (step.kind == plan::CommandKind::upload) {
      static_cast<void>(
          staging(submission.uploads[step.slot], memory::PageUse::upload, step.bytes));
    } else if (step.kind == plan::CommandKind::readback) {
      static_cast<void>(
          staging(submission.readbacks[step.slot], memory::PageUse::readback, step.bytes));
    }
  }
}

EncodeInputs::Staging WgpuBackend::staging(const HostSlice& slice, memory::PageUse use,
                                           Bytes bytes) const {
  const PageSlot& slot = pages_.get(slice.page, "a staging page");
  const bool fits = slice.offset <= slot.bytes && bytes <= slot.bytes - slice.offset;
  // wgpu-native ends the process at a submission whose buffer is mapped, or about to be.
  if (!has(slot.use, use) || pages_.host_state(slice.page) != HostState::unmapped || !fits) {
    throw Error(ErrorCode::internal,
                text("The staging page ", slice.page.value, " of ", slot.bytes,
                     " bytes cannot take part with ", bytes, " bytes at ", slice.offset,
                     ": it is of another use, too small, or not given back by the host. Nothing "
                     "was submitted."));
  }
  return {slot.buffer, slice.offset};
}

EncodeInputs WgpuBackend::resolve(const BoundProgram& bound, const Submission& submission) {
  EncodeInputs inputs;
  inputs.grids = submission.grids;
  inputs.uploads.resize(submission.uploads.size());
  inputs.readbacks.resize(submission.readbacks.size());
  for (const Step& step : bound.steps) {
    if (step.kind == plan::CommandKind::upload) {
      inputs.uploads[step.slot] =
          staging(submission.uploads[step.slot], memory::PageUse::upload, step.bytes);
    } else if (step.kind == plan::CommandKind::readback) {
      inputs.readbacks[step.slot] =
          staging(submission.readbacks[step.slot], memory::PageUse::readback, step.bytes);
    }
  }
  if (bound.program->uniform_bytes != 0) resolve_uniforms(bound, submission, inputs);
  return inputs;
}

void WgpuBackend::resolve_uniforms(const BoundProgram& bound, const Submission& submission,
                                   EncodeInputs& inputs) {
  const memory::PageHandle room = submission.uniform_room.page;
  const PageSlot& slot = pages_.get(room, "room for uniforms");
  const Bytes base = submission.uniform_room.offset;
  const Bytes bytes = bound.program->uniform_bytes;
  const bool fits = base <= slot.bytes && bytes <= slot.bytes - base;
  if (!has(slot.use, memory::PageUse::uniform) || !fits || bytes % 4 != 0 ||
      base % capabilities().limits.uniform_alignment != 0) {
    throw Error(ErrorCode::internal,
                text("Page ", room.value, " of ", slot.bytes, " bytes is no room for ", bytes,
                     " bytes of uniforms at ", base,
                     ": it is of another use, too small, or the offset is not aligned."));
  }
  if (std::ranges::find(bound.pages, room) != bound.pages.end()) {
    throw Error(ErrorCode::internal, text("Page ", room.value,
                                          " holds uniforms and tensors of one program, which "
                                          "WebGPU forbids where they are written."));
  }
  inputs.uniform_base = base;
  ErrorScopes scopes(*device_);
  std::vector<std::shared_ptr<const BindGroup>> made;
  for (const Bytes size : bound.uniform_sizes) {
    BindGroups::Found found = groups_.uniform(kernels_.uniform_layout(), room, slot.buffer, size);
    if (found.made) made.push_back(found.group);
    inputs.uniform_groups.push_back(std::move(found.group));
  }
  if (const auto error = scopes.close()) {
    groups_.forget(made);
    device_->check_alive();
    throw Error(ErrorCode::device, text("The device refuses room for uniforms: ",
                                        one_line(error->message), " Nothing was submitted."));
  }
}

void WgpuBackend::hand_over(WGPUCommandBuffer commands, const Submission& submission) {
  const Table& api = device_->api();
  ErrorScopes scopes(*device_);
  // wgpu-native ends the process at a submit to a lost device: the last look before it.
  if (device_->events().is_lost()) {
    api.CommandBufferRelease(commands);
    device_->throw_lost();
  }
  if (!submission.uniforms.empty()) {
    // Runs after all submitted work and before this one, so room may be reused at once.
    const PageSlot& room = pages_.get(submission.uniform_room.page, "room for uniforms");
    api.QueueWriteBuffer(device_->queue(), room.buffer, submission.uniform_room.offset,
                         submission.uniforms.data(), submission.uniforms.size());
  }
  api.QueueSubmit(device_->queue(), 1, &commands);
  api.CommandBufferRelease(commands);
  if (const auto error = scopes.close()) {
    device_->check_alive();
    throw Error(ErrorCode::device,
                text("The device refuses a submission: ", one_line(error->message)));
  }
  const std::uint64_t ticket = ++submitted_;
  device_->events().retain();
  WGPUQueueWorkDoneCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.callback = &Events::on_work_done;
  info.userdata1 = &device_->events();
  info.userdata2 = std::bit_cast<void*>(static_cast<std::uintptr_t>(ticket));
  api.QueueOnSubmittedWorkDone(device_->queue(), info);
}

void WgpuBackend::mark_used(const BoundProgram& bound, const Submission& submission) {
  const auto mark = [&](memory::PageHandle page) {
    if (PageSlot* slot = pages_.find(page)) slot->last_use = submitted_;
  };
  for (const memory::PageHandle page : bound.pages) mark(page);
  for (const HostSlice& slice : submission.uploads) mark(slice.page);
  for (const HostSlice& slice : submission.readbacks) mark(slice.page);
  if (bound.program->uniform_bytes != 0) mark(submission.uniform_room.page);
}

}  // namespace
}  // namespace wgpu

std::unique_ptr<Backend> make_wgpu(const ConnectOptions& options) {
  return std::make_unique<wgpu::WgpuBackend>(options);
}

}  // namespace berth::runtime
