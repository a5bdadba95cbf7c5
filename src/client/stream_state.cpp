// SPDX-License-Identifier: Apache-2.0
#include "client/stream_state.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/check_launch.hpp"
#include "client/fill_kernel.hpp"

namespace berth::client {

StreamState::StreamState(Core& core) : core_(core), window_(core.next_window()) {}

void StreamState::begin_verb() {
  core_.check_thread();
  core_.check_device();
}

void StreamState::launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                         const Uniforms& uniforms, const LaunchOptions& options) {
  begin_verb();
  const bool runs =
      resolve_launch(kernel, grid, bindings, uniforms, core_.id(), core_.device(), scratch_);
  if (runs) {
    core_.compile(kernel);
    note_uses(scratch_);
    window_.add_dispatch(kernel, grid, scratch_, uniforms.words(), options.label,
                         options.estimated_ns);
  }
  for (const Binding& binding : bindings) binding.take();
}

void StreamState::note_uses(std::span<const Window::NewUse> uses) {
  for (const Window::NewUse& use : uses) {
    core_.adopt(*use.tensor);
    use.tensor->last_stream = this;
  }
  for (const Window::NewUse& use : uses) {
    if (!writes(use.access) || use.range.empty()) continue;
    use.tensor->contents.store(true, std::memory_order_release);
    use.tensor->failed.store(false, std::memory_order_release);
    use.tensor->failure.reset();
  }
}

Window::NewUse StreamState::resolve_transfer(const Binding& binding, Access access,
                                             const char* verb) {
  const Where where{verb, nullptr, nullptr};
  const Window::NewUse use = resolve(binding, access, core_.id(), where);
  check_contents(use, where);
  return use;
}

void StreamState::upload(const Binding& target, std::span<const std::byte> data) {
  begin_verb();
  const Window::NewUse use = resolve_transfer(target, Access::write, "upload");
  if (use.range.bytes != data.size()) {
    throw Error(ErrorCode::invalid_argument,
                text("upload: ", data.size(), " bytes of data for ", use.range.bytes,
                     " bytes of tensor ", describe(*use.tensor), "; the sizes must be equal."));
  }
  const std::size_t piece =
      static_cast<std::size_t>(align_down(core_.manager().uploads().largest_piece(), 4));
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t bytes = std::min(piece, data.size() - done);
    Window::NewUse part = use;
    part.range = {use.range.offset + done, bytes};
    upload_piece(part, data.subspan(done, bytes));
    done += bytes;
  }
  target.take();
}

void StreamState::upload_piece(const Window::NewUse& target, std::span<const std::byte> data) {
  memory::Slice staged = core_.stage(data);
  while (!staged.page.valid()) {
    close(nullptr);
    core_.wait_for_staging();
    staged = core_.stage(data);
  }
  note_uses({&target, 1});
  window_.add_transfer(plan::TaskKind::upload, {&target, 1}, window_.add_upload_source(staged),
                       "upload");
}

void StreamState::fill(const Binding& target, std::uint32_t value) {
  begin_verb();
  const Window::NewUse use = resolve_transfer(target, Access::write, "fill");
  if (use.range.empty()) {
    target.take();
    return;
  }
  if (value == 0) {
    note_uses({&use, 1});
    window_.add_transfer(plan::TaskKind::fill, {&use, 1}, 0, "fill");
    target.take();
    return;
  }
  const Bytes n = use.range.bytes / 4;
  if (n > ~std::uint32_t{0}) {
    throw Error(ErrorCode::too_large, text("fill: ", use.range.bytes,
                                           " bytes are filled at once, but at most 16 GiB - 4 can "
                                           "be; fill slices of it."));
  }
  launch(fill_kernel(), cover(n, kFillGroup), {&target, 1},
         FillUniforms{.value = value, .n = static_cast<std::uint32_t>(n)}, {});
}

void StreamState::copy(const Binding& source, const Binding& target) {
  begin_verb();
  scratch_.clear();
  scratch_.push_back(resolve_transfer(source, Access::read, "copy, source"));
  scratch_.push_back(resolve_transfer(target, Access::write, "copy, target"));
  const Window::NewUse& from = scratch_[0];
  const Window::NewUse& to = scratch_[1];
  if (from.range.bytes != to.range.bytes) {
    throw Error(ErrorCode::invalid_argument,
                text("copy: the source has ", from.range.bytes, " bytes and the target ",
                     to.range.bytes, "; the sizes must be equal."));
  }
  const bool same_bytes = from.tensor == to.tensor && from.range == to.range;
  if (!from.range.empty() && !same_bytes) {
    const bool target_renames = to.range == Range{0, to.tensor->bytes};
    if (from.tensor == to.tensor && !target_renames) {
      throw Unsupported(text("copy: source ", to_text(from.range), " and target ",
                             to_text(to.range), " are ranges of one tensor, ",
                             describe(*from.tensor),
                             ", which is not supported yet; copy through another tensor."));
    }
    note_uses(scratch_);
    window_.add_transfer(plan::TaskKind::copy, scratch_, 0, "copy");
  }
  source.take();
  target.take();
}

std::shared_ptr<ReadState> StreamState::read(std::span<const Binding> sources) {
  begin_verb();
  scratch_.clear();
  for (const Binding& source : sources) {
    scratch_.push_back(resolve_transfer(source, Access::read, "read"));
  }
  auto state = std::make_shared<ReadState>(core_.shared_from_this());
  state->parts.resize(sources.size());
  const Window::Mark mark = window_.mark();
  note_uses(scratch_);
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    if (scratch_[i].range.empty()) continue;
    window_.add_transfer(plan::TaskKind::readback, {&scratch_[i], 1}, 0, "read");
    state->part_of.push_back(i);
  }
  try {
    close(state.get());
  } catch (...) {
    window_.rewind(mark);
    throw;
  }
  state->submitted = true;
  for (const Binding& source : sources) source.take();
  return state;
}

void StreamState::close(ReadState* reads) {
  begin_verb();
  if (!window_.empty()) {
    core_.submit(window_, reads);
    window_.clear(core_.next_window());
  }
  core_.drain_drops();
  core_.run_callbacks();
}

void StreamState::discard() {
  const auto why = std::make_shared<const std::string>(text(
      "the window that was to write it, of ", window_.tasks().size(), " tasks, was discarded."));
  for (const RecordedTask& task : window_.tasks()) {
    for (const RecordedUse& use : window_.uses_of(task)) {
      if (!writes(use.access)) continue;
      TensorState& tensor = *window_.tensors()[use.tensor];
      tensor.failed.store(true, std::memory_order_release);
      tensor.contents.store(false, std::memory_order_release);
      tensor.failure = why;
    }
  }
  abandon();
  core_.drain_drops();
}

void StreamState::abandon() {
  core_.manager().uploads().discard(window_.uploads());
  window_.clear(core_.next_window());
}

}  // namespace berth::client
