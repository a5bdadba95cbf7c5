// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_runtime.hpp"

#include <cstring>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_kernels.hpp"
#include "runtime/cuda/cuda_pages.hpp"
#include "runtime/cuda/cuda_prepared.hpp"
#include "runtime/cuda/cuda_run.hpp"
#include "runtime/cuda/cuda_staging.hpp"
#include "runtime/cuda/cuda_tickets.hpp"
#include "runtime/cuda/cuda_tuning.hpp"

namespace berth::runtime {

namespace cuda {
namespace {

class CudaEncoded final : public Encoded {
 public:
  CudaEncoded(std::shared_ptr<PreparedState> of, const Submission& what)
      : state(std::move(of)), submission(what) {}
  std::shared_ptr<PreparedState> state;
  Submission submission;
  std::shared_ptr<ForeignWork> foreign;
};

/// What a submission with foreign work keeps until it is done.
struct KeptForeign {
  std::shared_ptr<PreparedState> state;
  std::shared_ptr<ForeignWork> foreign;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const ConnectOptions& options, const Tuning& tuning)
      : device_(std::make_shared<const Device>(options)),
        graph_from_(tuning.graph_from),
        tickets_(device_),
        staging_(device_),
        kernels_(device_),
        pages_(device_, tuning.pages) {}

  ~CudaBackend() override {
    try {
      tickets_.wait(tickets_.submitted());
    } catch (...) {  // NOLINT(bugprone-empty-catch): lost: there is nothing left to wait for
    }
  }

  [[nodiscard]] const Capabilities& capabilities() const override {
    return device_->capabilities();
  }

  // Pages.
  [[nodiscard]] Made make_page(const memory::PageRequest& request) override {
    return pages_.make(request);
  }
  void free_page(memory::PageHandle page) noexcept override { pages_.free(page); }
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
    return std::make_unique<CudaPrepared>(
        bind_program(*device_, pages_, kernels_, std::move(program), pages));
  }
  [[nodiscard]] std::unique_ptr<Encoded> encode(Prepared& prepared, const Submission& submission,
                                                void* into) override;
  [[nodiscard]] Ticket submit(std::unique_ptr<Encoded> encoded) override;
  [[nodiscard]] Ticket poll() override { return {tickets_.poll()}; }
  void wait(Ticket ticket) override {
    if (ticket.value > tickets_.submitted()) {
      throw Error(ErrorCode::internal,
                  text("Ticket ", ticket.value, " is awaited, and the last submission is ",
                       tickets_.submitted(), "."));
    }
    tickets_.wait(ticket.value);
  }

  // Staging pages.
  void map(memory::PageHandle page) override { pages_.map(page); }
  void wait_mapped(memory::PageHandle page) override {
    device_->check_alive();
    if (pages_.get(page, "a staging page").state == HostState::unmapped) {
      throw Error(ErrorCode::internal,
                  text("Page ", page.value, " is awaited, and nobody asked for its map."));
    }
    tickets_.wait(pages_.get(page, "a staging page").last_use);
  }
  [[nodiscard]] HostState host_state(memory::PageHandle page) const override {
    return pages_.host_state(page, tickets_.completed());
  }
  [[nodiscard]] std::byte* host_data(memory::PageHandle page) override {
    return pages_.host_data(page, tickets_.completed());
  }
  void unmap(memory::PageHandle page) override { pages_.unmap(page, tickets_.completed()); }

  [[nodiscard]] std::optional<std::string> lost() const override { return device_->lost_reason(); }

  [[nodiscard]] cuda::Made made() const {
    return {graphs_, node_updates_, tickets_.events_made(), staging_.chunks()};
  }

 private:
  void check_submission(const BoundProgram& bound, const Submission& submission) const;
  [[nodiscard]] std::byte* staging(const HostSlice& slice, memory::PageUse use, Bytes bytes) const;
  [[nodiscard]] CUdeviceptr uniform_room(const BoundProgram& bound,
                                         const Submission& submission) const;
  void resolve(const BoundProgram& bound, const Submission& submission, RunInputs& out) const;
  void send_uniforms(const BoundProgram& bound, const Submission& submission, CUdeviceptr room);
  void ready_graph(PreparedState& state);
  void issue(PreparedState& state, const ForeignWork* foreign, bool& issued);
  void mark_used(const BoundProgram& bound, const Submission& submission);

  // The order matters: what is last here is freed first, and the device goes last.
  std::shared_ptr<const Device> device_;
  std::uint32_t graph_from_;
  Tickets tickets_;
  Staging staging_;
  Kernels kernels_;
  Pages pages_;
  std::uint64_t graphs_ = 0;
  std::uint64_t node_updates_ = 0;
};

std::unique_ptr<Encoded> CudaBackend::encode(Prepared& prepared, const Submission& submission,
                                             void* into) {
  device_->check_alive();
  if (into != nullptr) {
    throw Unsupported(
        "The cuda runtime has no encoders to record into: connect with the caller's stream in "
        "ConnectOptions::cuda instead.");
  }
  auto& ours = static_cast<CudaPrepared&>(prepared);  // made by our prepare()
  const BoundProgram& bound = *ours.state()->bound;
  check_submission(bound, submission);
  auto encoded = std::make_unique<CudaEncoded>(ours.state(), submission);
  if (bound.program->foreign != 0) {
    const ContextScope scope(*device_);
    encoded->foreign = std::make_shared<ForeignWork>(device_, bound, submission.foreign);
  }
  return encoded;
}

Ticket CudaBackend::submit(std::unique_ptr<Encoded> encoded) {
  device_->check_alive();
  auto& ours = static_cast<CudaEncoded&>(*encoded);  // made by our encode()
  PreparedState& state = *ours.state;
  const BoundProgram& bound = *state.bound;
  // Again: a page may have been freed or mapped since it was encoded.
  check_submission(bound, ours.submission);
  resolve(bound, ours.submission, state.inputs);
  const ContextScope scope(*device_);
  std::shared_ptr<const void> keep = ours.state;
  if (ours.foreign != nullptr) {
    keep = std::make_shared<KeptForeign>(KeptForeign{ours.state, ours.foreign});
  }
  tickets_.reserve();
  // All that can be refused comes before the first command: see the catch.
  if (graph_from_ != 0 && state.submissions + 1 >= graph_from_ && !bound.stream_only) {
    ready_graph(state);
  }
  send_uniforms(bound, ours.submission, state.inputs.uniforms);
  bool issued = false;
  try {
    issue(state, ours.foreign.get(), issued);
    tickets_.record(std::move(keep), bound.name);
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error& error) {
    // What was issued cannot be called back, and issuing it again would be wrong.
    if (!issued) throw;
    device_->mark_lost(text("a window was submitted in part, and stays in part: ", error.what()));
    device_->check_alive();
  }
  ++state.submissions;
  mark_used(bound, ours.submission);
  return {tickets_.submitted()};
}

void CudaBackend::check_submission(const BoundProgram& bound, const Submission& submission) const {
  const plan::Program& program = *bound.program;
  for (const memory::PageHandle page : bound.pages) {
    static_cast<void>(pages_.get(page, "a page of a prepared program"));
  }
  if (submission.uniforms.size() != program.uniform_bytes ||
      submission.grids.size() != program.grids || submission.uploads.size() != program.uploads ||
      submission.readbacks.size() != program.readbacks ||
      submission.foreign.size() != program.foreign) {
    throw Error(
        ErrorCode::internal,
        text("A program of ", program.uniform_bytes, " uniform bytes, ", program.grids, " grids, ",
             program.uploads, " uploads, ", program.readbacks, " readbacks and ", program.foreign,
             " foreign tasks was given ", submission.uniforms.size(), ", ", submission.grids.size(),
             ", ", submission.uploads.size(), ", ", submission.readbacks.size(), " and ",
             submission.foreign.size(), "."));
  }
  const std::uint32_t limit = capabilities().limits.max_groups_per_dimension;
  for (const Grid& grid : submission.grids) {
    if (grid.x <= limit && grid.y <= limit && grid.z <= limit) continue;
    throw Error(ErrorCode::internal,
                text("A grid of ", grid.x, " x ", grid.y, " x ", grid.z,
                     " workgroups is above the limit of ", limit, " per dimension."));
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
  if (program.uniform_bytes != 0) static_cast<void>(uniform_room(bound, submission));
}

std::byte* CudaBackend::staging(const HostSlice& slice, memory::PageUse use, Bytes bytes) const {
  const PageSlot slot = pages_.get(slice.page, "a staging page");
  const bool fits = slice.offset <= slot.bytes && bytes <= slot.bytes - slice.offset;
  if (!has(slot.use, use) || slot.state != HostState::unmapped || !fits) {
    throw Error(ErrorCode::internal,
                text("The staging page ", slice.page.value, " of ", slot.bytes,
                     " bytes cannot take part with ", bytes, " bytes at ", slice.offset,
                     ": it is of another use, too small, or not given back by the host. Nothing "
                     "was submitted."));
  }
  return slot.host + slice.offset;
}

CUdeviceptr CudaBackend::uniform_room(const BoundProgram& bound,
                                      const Submission& submission) const {
  const memory::PageHandle room = submission.uniform_room.page;
  const PageSlot slot = pages_.get(room, "room for uniforms");
  const Bytes base = submission.uniform_room.offset;
  const Bytes bytes = bound.program->uniform_bytes;
  const bool fits = base <= slot.bytes && bytes <= slot.bytes - base;
  if (!has(slot.use, memory::PageUse::uniform) || slot.address == 0 || !fits ||
      base % capabilities().limits.uniform_alignment != 0) {
    throw Error(ErrorCode::internal,
                text("Page ", room.value, " of ", slot.bytes, " bytes is no room for ", bytes,
                     " bytes of uniforms at ", base,
                     ": it is of another use, too small, or the offset is not aligned."));
  }
  return slot.address + base;
}

void CudaBackend::resolve(const BoundProgram& bound, const Submission& submission,
                          RunInputs& out) const {
  out.grids = submission.grids;
  out.uploads.resize(submission.uploads.size());
  out.readbacks.resize(submission.readbacks.size());
  for (const Step& step : bound.steps) {
    if (step.kind == plan::CommandKind::upload) {
      out.uploads[step.slot] =
          staging(submission.uploads[step.slot], memory::PageUse::upload, step.bytes);
    } else if (step.kind == plan::CommandKind::readback) {
      out.readbacks[step.slot] =
          staging(submission.readbacks[step.slot], memory::PageUse::readback, step.bytes);
    }
  }
  out.uniforms = bound.program->uniform_bytes != 0 ? uniform_room(bound, submission) : 0;
}

void CudaBackend::send_uniforms(const BoundProgram& bound, const Submission& submission,
                                CUdeviceptr room) {
  const std::span<const std::byte> uniforms = submission.uniforms;
  if (uniforms.empty()) return;
  // From pinned memory of our own: the driver may wait for the stream before it copies from any
  // other. The room may be that of a submission under way: the stream orders this after it.
  std::byte* data = staging_.take(uniforms.size(), tickets_.submitted() + 1, tickets_.completed());
  std::memcpy(data, uniforms.data(), uniforms.size());
  device_->check(device_->api().MemcpyHtoDAsync(room, data, uniforms.size(), device_->stream()),
                 text("sending the uniforms of ", bound.name));
}

void CudaBackend::ready_graph(PreparedState& state) {
  if (state.graph == nullptr) {
    state.graph = std::make_unique<ProgramGraph>(device_, state.bound, state.inputs);
    ++graphs_;
    return;
  }
  try {
    node_updates_ += state.graph->update(state.inputs);
  } catch (...) {
    state.graph.reset();  // changed in part: the next submission makes another
    throw;
  }
}

void CudaBackend::issue(PreparedState& state, const ForeignWork* foreign, bool& issued) {
  if (state.graph != nullptr) {
    state.graph->launch();
    issued = true;
    return;
  }
  StreamRun run(*device_, tickets_, staging_, *state.bound, state.inputs, foreign);
  try {
    run.run();
  } catch (...) {
    issued = run.issued();
    throw;
  }
  issued = true;
}

void CudaBackend::mark_used(const BoundProgram& bound, const Submission& submission) {
  const std::uint64_t ticket = tickets_.submitted();
  for (const memory::PageHandle page : bound.pages) pages_.used_by(page, ticket);
  for (const HostSlice& slice : submission.uploads) pages_.used_by(slice.page, ticket);
  for (const HostSlice& slice : submission.readbacks) pages_.used_by(slice.page, ticket);
  if (bound.program->uniform_bytes != 0) {
    pages_.used_by(submission.uniform_room.page, ticket);
  }
}

}  // namespace

std::unique_ptr<Backend> make_tuned(const ConnectOptions& options, const Tuning& tuning) {
  return std::make_unique<CudaBackend>(options, tuning);
}

Made made_by(const Backend& backend) { return static_cast<const CudaBackend&>(backend).made(); }

}  // namespace cuda

std::unique_ptr<Backend> make_cuda(const ConnectOptions& options) {
  return cuda::make_tuned(options, {});
}

}  // namespace berth::runtime
