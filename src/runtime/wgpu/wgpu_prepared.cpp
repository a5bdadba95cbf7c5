// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_prepared.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_scope.hpp"
#include "runtime/wgpu/wgpu_tracker.hpp"

namespace berth::runtime::wgpu {

using plan::Command;
using plan::CommandKind;
using plan::ProgramBinding;

namespace {

class Builder {
 public:
  Builder(Device& device, const Pages& pages, Kernels& kernels, BindGroups& groups,
          BoundProgram& out)
      : device_(device),
        pages_(pages),
        kernels_(kernels),
        groups_(groups),
        out_(out),
        program_(*out.program),
        tracker_(device.capabilities().limits.offset_alignment) {}

  void build() {
    check_pages();
    // Before any scope is open: a compilation takes its own lock first, and then the scopes'.
    for (const plan::ProgramKernel& form : program_.kernels) {
      compiled_.push_back(&kernels_.get(form.kernel, form.variant, form.in_place_pairs));
    }
    out_.steps.reserve(program_.commands.size());
    ErrorScopes scopes(device_);
    std::size_t next_pass = 0;
    for (std::size_t i = 0; i < program_.commands.size(); ++i) {
      const Command& command = program_.commands[i];
      Step step = start(command);
      while (next_pass < program_.pass_starts.size() && program_.pass_starts[next_pass] <= i) {
        step.pass_start = program_.pass_starts[next_pass++] == i;
      }
      resolve(command, step);
      out_.steps.push_back(step);
    }
    if (const auto error = scopes.close()) refuse_groups(*error);
  }

 private:
  void check_pages() const {
    if (out_.pages.size() != program_.pages.size()) {
      throw Error(ErrorCode::internal, text("A program of ", program_.pages.size(),
                                            " pages was given ", out_.pages.size(), "."));
    }
    for (std::size_t i = 0; i < out_.pages.size(); ++i) {
      const Bytes bytes = pages_.get(out_.pages[i], "a page of a program").bytes;
      if (bytes < program_.pages[i].bytes) {
        throw Error(ErrorCode::internal,
                    text("Page ", i, " of a program needs ", program_.pages[i].bytes,
                         " bytes and was given one of ", bytes, "."));
      }
    }
  }

  [[nodiscard]] std::string_view label_of(const Command& command) const {
    return program_.labels[command.label];
  }

  [[noreturn]] void broken(const Command& command, const std::string& what) const {
    throw Error(ErrorCode::internal, text("The task \"", label_of(command), "\" ", what,
                                          ": the program is wrong. Nothing was submitted."));
  }

  Step start(const Command& command) {
    if (command.label >= program_.labels.size()) {
      throw Error(ErrorCode::internal, "A command of the program has no label.");
    }
    if (std::size_t{command.first_binding} + command.binding_count > program_.bindings.size()) {
      broken(command, "has bindings that the program lacks");
    }
    tracker_.begin(label_of(command));
    Step step;
    step.kind = command.kind;
    step.slot = command.slot;
    step.label = command.label;
    step.grid = command.grid;
    return step;
  }

  /// Binding `i` of a command, checked against its page and told to the tracker.
  BoundRange bound(const Command& command, std::uint32_t i, Usage usage) {
    if (i >= command.binding_count) broken(command, "has too few bindings");
    const ProgramBinding& binding = program_.bindings[command.first_binding + i];
    if (binding.page.index() >= out_.pages.size()) broken(command, "uses a page out of range");
    const memory::PageHandle handle = out_.pages[binding.page.index()];
    const PageSlot& slot = pages_.get(handle, "a page of a program");
    const Range range{binding.offset, binding.bytes};
    if (range.empty() || range.offset > slot.bytes || range.bytes > slot.bytes - range.offset) {
      broken(command, text("uses ", to_text(range), " of a page of ", slot.bytes, " bytes"));
    }
    tracker_.use(handle, range, usage);
    return {handle, slot.buffer, range};
  }

  void resolve(const Command& command, Step& step) {
    switch (command.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        return resolve_dispatch(command, step);
      case CommandKind::copy: {
        const BoundRange source = bound(command, 0, Usage::copy_source);
        const BoundRange target = bound(command, 1, Usage::copy_target);
        if (source.range.bytes != target.range.bytes) broken(command, "copies unequal sizes");
        set_a(step, source);
        step.b = target.buffer;
        step.offset_b = target.range.offset;
        return;
      }
      case CommandKind::fill:
        return set_a(step, bound(command, 0, Usage::copy_target));
      case CommandKind::upload:
        if (command.slot >= program_.uploads) broken(command, "has no upload slot");
        return set_a(step, bound(command, 0, Usage::copy_target));
      case CommandKind::readback:
        if (command.slot >= program_.readbacks) broken(command, "has no readback slot");
        return set_a(step, bound(command, 0, Usage::copy_source));
      case CommandKind::foreign:
        throw Unsupported(
            text("The wgpu runtime runs no foreign tasks yet (task \"", label_of(command), "\")."));
    }
  }

  static void set_a(Step& step, const BoundRange& bound) {
    step.a = bound.buffer;
    step.offset_a = bound.range.offset;
    step.bytes = bound.range.bytes;
  }

  void resolve_dispatch(const Command& command, Step& step) {
    if (command.batch_count != 0) {
      throw Unsupported(
          text("The wgpu runtime runs no batches yet (task \"", label_of(command), "\")."));
    }
    if (command.kernel >= program_.kernels.size()) broken(command, "has no kernel");
    const plan::ProgramKernel& form = program_.kernels[command.kernel];
    const CompiledKernel& kernel = *compiled_[command.kernel];
    const std::vector<LayoutBinding>& wanted = kernel.layout->bindings;
    const bool indirect = command.kind == CommandKind::indirect;
    if (!indirect && command.grid >= program_.grids) broken(command, "has no grid");
    if (command.binding_count != wanted.size() + (indirect ? 1 : 0)) {
      broken(command, text("has ", command.binding_count, " bindings, and its kernel \"",
                           form.kernel.name(), "\" takes ", wanted.size()));
    }
    ranges_.clear();
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      ranges_.push_back(
          bound(command, i, wanted[i].writable ? Usage::storage_write : Usage::storage_read));
    }
    if (indirect) {
      set_a(step, bound(command, command.binding_count - 1, Usage::indirect));
      if (step.bytes < 12) broken(command, "has fewer than 12 bytes of workgroup counts");
    }
    step.pipeline = kernel.pipeline;
    const BindGroups::Found found = groups_.storage(*kernel.layout, ranges_);
    step.group = found.group->get();
    out_.groups_made += found.made ? 1 : 0;
    out_.groups.push_back(found.group);

    step.has_uniforms = kernel.has_uniforms;
    if (!kernel.has_uniforms) return;
    if (command.uniform_bytes == 0 ||
        command.uniform_bytes > device_.capabilities().limits.max_uniform_bytes ||
        command.uniform_offset % device_.capabilities().limits.uniform_alignment != 0 ||
        command.uniform_offset + command.uniform_bytes > program_.uniform_bytes) {
      broken(command,
             text("has its uniforms at ", to_text({command.uniform_offset, command.uniform_bytes}),
                  " of ", program_.uniform_bytes, " bytes"));
    }
    step.uniform_offset = command.uniform_offset;
    const auto known = std::ranges::find(out_.uniform_sizes, command.uniform_bytes);
    step.uniform_size = static_cast<std::uint32_t>(known - out_.uniform_sizes.begin());
    if (known == out_.uniform_sizes.end()) out_.uniform_sizes.push_back(command.uniform_bytes);
  }

  /// One of the new bind groups is refused: finds which by making each alone.
  [[noreturn]] void refuse_groups(const ScopeError& error) {
    groups_.forget(out_.groups);
    device_.check_alive();
    for (const Command& command : program_.commands) {
      if (command.kind != CommandKind::dispatch && command.kind != CommandKind::indirect) continue;
      Step step = start(command);
      ErrorScopes scopes(device_);
      resolve_dispatch(command, step);
      if (const auto own = scopes.close()) {
        groups_.forget({out_.groups.back()});
        throw Error(ErrorCode::device,
                    text("The device refuses the bindings of the task \"", label_of(command),
                         "\": ", one_line(own->message), " Nothing was submitted."));
      }
    }
    throw Error(ErrorCode::device,
                text("The device refuses the bindings of a window of ", program_.commands.size(),
                     " tasks: ", one_line(error.message), " Nothing was submitted."));
  }

  Device& device_;
  const Pages& pages_;
  Kernels& kernels_;
  BindGroups& groups_;
  BoundProgram& out_;
  const plan::Program& program_;
  UsageTracker tracker_;
  std::vector<const CompiledKernel*> compiled_;
  std::vector<BoundRange> ranges_;
};

}  // namespace

std::shared_ptr<const BoundProgram> bind_program(Device& device, const Pages& pages,
                                                 Kernels& kernels, BindGroups& groups,
                                                 std::shared_ptr<const plan::Program> program,
                                                 std::span<const memory::PageHandle> handles) {
  device.check_alive();
  auto bound = std::make_shared<BoundProgram>();
  bound->program = std::move(program);
  bound->pages.assign(handles.begin(), handles.end());
  Builder(device, pages, kernels, groups, *bound).build();
  return bound;
}

}  // namespace berth::runtime::wgpu
