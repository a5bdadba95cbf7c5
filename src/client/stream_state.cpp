// SPDX-License-Identifier: Apache-2.0
#include "client/stream_state.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/check_launch.hpp"
#include "client/fill_kernel.hpp"

namespace berth::client {

StreamState::StreamState(Core& core) : core_(core), window_(core.next_window()) {}

StreamState::Lock StreamState::begin_verb() {
  core_.check_device();
  return core_.lock();
}

void StreamState::finish_verb(Lock& lock) {
  lock.unlock();
  core_.run_callbacks();
}

// Recording ---------------------------------------------------------------------------------------

void StreamState::launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                         const Uniforms& uniforms, const LaunchOptions& options) {
  const Lock lock = begin_verb();
  launch_locked(kernel, grid, bindings, nullptr, uniforms, options);
}

void StreamState::launch_indirect(const Kernel& kernel, const Binding& counts,
                                  std::span<const Binding> bindings, const Uniforms& uniforms,
                                  const LaunchOptions& options) {
  const Lock lock = begin_verb();
  launch_locked(kernel, {1, 1, 1}, bindings, &counts, uniforms, options);
}

void StreamState::launch_locked(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                                const Binding* counts, const Uniforms& uniforms,
                                const LaunchOptions& options) {
  const bool runs = resolve_launch(kernel, grid, bindings, counts, uniforms, core_.id(),
                                   core_.device(), scratch_);
  if (runs) {
    core_.compile(kernel);
    close_others(scratch_);
    note_uses(scratch_);
    window_.add_dispatch(kernel, grid, scratch_, uniforms.words(), options.label,
                         options.estimated_ns);
  }
  for (const Binding& binding : bindings) binding.take();
  if (counts != nullptr) counts->take();
}

void StreamState::close_others(std::span<const Window::NewUse> uses) {
  for (const Window::NewUse& use : uses) {
    StreamState* other = use.tensor->last_stream;
    if (other != nullptr && other != this && core_.seams().orders_streams) other->submit(nullptr);
  }
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
                                             const char* verb) const {
  const Where where{verb, nullptr, nullptr};
  const Window::NewUse use = resolve(binding, access, core_.id(), where);
  check_contents(use, where);
  return use;
}

void StreamState::upload(const Binding& target, std::span<const std::byte> data) {
  Lock lock = begin_verb();
  const Window::NewUse use = resolve_transfer(target, Access::write, "upload");
  if (use.range.bytes != data.size()) {
    throw Error(ErrorCode::invalid_argument,
                text("upload: ", data.size(), " bytes of data for ", use.range.bytes,
                     " bytes of tensor ", describe(*use.tensor), "; the sizes must be equal."));
  }
  const auto piece =
      static_cast<std::size_t>(align_down(core_.manager().uploads().largest_piece(), 4));
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t bytes = std::min(piece, data.size() - done);
    Window::NewUse part = use;
    part.range = {use.range.offset + done, bytes};
    upload_piece(lock, part, data.subspan(done, bytes));
    done += bytes;
  }
  target.take();
}

void StreamState::upload_piece(Lock& lock, const Window::NewUse& target,
                               std::span<const std::byte> data) {
  memory::Slice staged = core_.stage(data);
  while (!staged.page.valid()) {
    core_.submit_all();
    core_.wait_for_staging(lock);
    staged = core_.stage(data);
  }
  close_others({&target, 1});
  note_uses({&target, 1});
  window_.add_transfer(plan::TaskKind::upload, {&target, 1}, window_.add_upload_source(staged),
                       "upload");
}

void StreamState::fill(const Binding& target, std::uint32_t value) {
  const Lock lock = begin_verb();
  const Window::NewUse use = resolve_transfer(target, Access::write, "fill");
  if (value != 0 && !use.range.empty()) {
    const Bytes n = use.range.bytes / 4;
    if (n > ~std::uint32_t{0}) {
      throw Error(ErrorCode::too_large, text("fill: ", use.range.bytes,
                                             " bytes are filled at once, but at most 16 GiB - 4 "
                                             "can be; fill slices of it."));
    }
    launch_locked(fill_kernel(), cover(n, kFillGroup), {&target, 1}, nullptr,
                  FillUniforms{.value = value, .n = static_cast<std::uint32_t>(n)}, {});
    return;
  }
  if (!use.range.empty()) {
    close_others({&use, 1});
    note_uses({&use, 1});
    window_.add_transfer(plan::TaskKind::fill, {&use, 1}, 0, "fill");
  }
  target.take();
}

void StreamState::copy(const Binding& source, const Binding& target) {
  const Lock lock = begin_verb();
  const std::array uses = {resolve_transfer(source, Access::read, "copy, source"),
                           resolve_transfer(target, Access::write, "copy, target")};
  const auto& [from, to] = uses;
  if (from.range.bytes != to.range.bytes) {
    throw Error(ErrorCode::invalid_argument,
                text("copy: the source has ", from.range.bytes, " bytes and the target ",
                     to.range.bytes, "; the sizes must be equal."));
  }
  const bool same_bytes = from.tensor == to.tensor && from.range == to.range;
  const bool renames = to.range == Range{0, to.tensor->bytes};
  if (from.tensor == to.tensor && !same_bytes && !renames && from.range.overlaps(to.range)) {
    copy_through_transient(from, to);
  } else if (!from.range.empty() && !same_bytes) {
    close_others(uses);
    note_uses(uses);
    window_.add_transfer(plan::TaskKind::copy, uses, 0, "copy");
  }
  source.take();
  target.take();
}

// Overlapping ranges of one tensor: like memmove.
void StreamState::copy_through_transient(const Window::NewUse& from, const Window::NewUse& to) {
  const Handle transient = core_.make_tensor(from.range.bytes);
  const Range whole{0, from.range.bytes};
  const std::array out = {from, Window::NewUse{transient.state(), Access::write, false, whole}};
  const std::array back = {Window::NewUse{transient.state(), Access::read, false, whole}, to};
  close_others(out);
  for (const auto& uses : {out, back}) {
    note_uses(uses);
    window_.add_transfer(plan::TaskKind::copy, uses, 0, "copy");
  }
}

// Closing -----------------------------------------------------------------------------------------

std::shared_ptr<ReadState> StreamState::read(std::span<const Binding> sources) {
  Lock lock = begin_verb();
  core_.wait_for_turn(lock);
  auto state = std::make_shared<ReadState>(core_.shared_from_this());
  state->parts.resize(sources.size());
  std::vector<Window::NewUse> uses;
  for (const Binding& source : sources) {
    uses.push_back(resolve_transfer(source, Access::read, "read"));
  }
  close_others(uses);
  const Window::Mark mark = window_.mark();
  note_uses(uses);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].range.empty()) continue;
    window_.add_transfer(plan::TaskKind::readback, {&uses[i], 1}, 0, "read");
    state->part_of.push_back(i);
  }
  try {
    submit(state.get());
  } catch (...) {
    window_.rewind(mark);
    lock.unlock();
    throw;
  }
  state->submitted = true;
  for (const Binding& source : sources) source.take();
  finish_verb(lock);
  return state;
}

void StreamState::close(Lock& lock, ReadState* reads) {
  core_.wait_for_turn(lock);
  submit(reads);
}

void StreamState::submit(ReadState* reads) {
  if (!window_.empty()) {
    core_.submit(window_, reads);
    window_.clear(core_.next_window());
  }
  core_.drain_drops();
}

void StreamState::flush() {
  Lock lock = begin_verb();
  close(lock, nullptr);
  finish_verb(lock);
}

void StreamState::sync() {
  Lock lock = begin_verb();
  close(lock, nullptr);
  core_.wait_idle(lock);
  finish_verb(lock);
}

bool StreamState::would_fit(Bytes budget) {
  const Lock lock = begin_verb();
  return window_.empty() || core_.would_fit(window_, budget);
}

void StreamState::discard() {
  const Lock lock = begin_verb();
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
