// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_prepared.hpp"

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::cuda {

using plan::Command;
using plan::CommandKind;
using plan::ProgramBinding;

namespace {

std::string name_of(const BoundProgram& bound) {
  if (bound.steps.empty()) return "a submission without tasks";
  const std::string& first = bound.label_of(bound.steps.front());
  if (bound.steps.size() == 1) return text("the task \"", first, "\"");
  return text("a submission of ", bound.steps.size(), " tasks (\"", first, "\" to \"",
              bound.label_of(bound.steps.back()), "\")");
}

class Builder {
 public:
  Builder(const Device& device, const Pages& pages, Kernels& kernels, BoundProgram& out)
      : limits_(device.capabilities().limits),
        kernels_(kernels),
        out_(out),
        program_(*out.program) {
    check_pages(pages);
  }

  void build() {
    for (const plan::ProgramKernel& form : program_.kernels) {
      compiled_.push_back(&kernels_.get(form.kernel, form.variant, form.in_place_pairs));
    }
    out_.steps.reserve(program_.commands.size());
    out_.arguments.reserve(program_.bindings.size());
    for (const Command& command : program_.commands) out_.steps.push_back(resolve(command));
    out_.name = name_of(out_);
  }

 private:
  void check_pages(const Pages& pages) {
    if (out_.pages.size() != program_.pages.size()) {
      throw Error(ErrorCode::internal, text("A program of ", program_.pages.size(),
                                            " pages was given ", out_.pages.size(), "."));
    }
    for (std::size_t i = 0; i < out_.pages.size(); ++i) {
      slots_.push_back(pages.get(out_.pages[i], "a page of a program"));
      if (slots_.back().bytes < program_.pages[i].bytes || slots_.back().address == 0) {
        throw Error(ErrorCode::internal,
                    text("Page ", i, " of a program needs ", program_.pages[i].bytes,
                         " bytes of the device and was given one of ", slots_.back().bytes, "."));
      }
    }
  }

  [[noreturn]] void broken(const Command& command, const std::string& what) const {
    throw Error(ErrorCode::internal, text("The task \"", program_.labels[command.label], "\" ",
                                          what, ": the program is wrong. Nothing was submitted."));
  }

  /// Binding `i` of a command, checked against its page.
  [[nodiscard]] const ProgramBinding& binding(const Command& command, std::uint32_t i) const {
    if (i >= command.binding_count) broken(command, "has too few bindings");
    const ProgramBinding& b = program_.bindings[command.first_binding + i];
    if (b.page.index() >= slots_.size()) broken(command, "uses a page out of range");
    const Bytes page = slots_[b.page.index()].bytes;
    if (b.bytes == 0 || b.offset > page || b.bytes > page - b.offset || b.offset % 4 != 0 ||
        b.bytes % 4 != 0) {
      broken(command,
             text("uses ", to_text({b.offset, b.bytes}), " of a page of ", page, " bytes"));
    }
    return b;
  }
  [[nodiscard]] CUdeviceptr address(const ProgramBinding& b) const {
    return slots_[b.page.index()].address + b.offset;
  }

  Step resolve(const Command& command) {
    if (command.label >= program_.labels.size()) {
      throw Error(ErrorCode::internal, "A command of the program has no label.");
    }
    if (std::size_t{command.first_binding} + command.binding_count > program_.bindings.size()) {
      broken(command, "has bindings that the program lacks");
    }
    Step step;
    step.kind = command.kind;
    step.slot = command.slot;
    step.label = command.label;
    step.grid = command.grid;
    switch (command.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        resolve_dispatch(command, step);
        break;
      case CommandKind::copy: {
        const ProgramBinding& target = binding(command, 1);
        set_a(step, binding(command, 0));
        if (target.bytes != step.bytes) broken(command, "copies unequal sizes");
        step.b = address(target);
        break;
      }
      case CommandKind::fill:
        set_a(step, binding(command, 0));
        break;
      case CommandKind::upload:
        if (command.slot >= program_.uploads) broken(command, "has no upload slot");
        set_a(step, binding(command, 0));
        break;
      case CommandKind::readback:
        if (command.slot >= program_.readbacks) broken(command, "has no readback slot");
        set_a(step, binding(command, 0));
        break;
      case CommandKind::foreign:
        resolve_foreign(command, step);
        break;
    }
    return step;
  }

  void set_a(Step& step, const ProgramBinding& b) const {
    step.a = address(b);
    step.bytes = b.bytes;
  }

  void resolve_foreign(const Command& command, Step& step) {
    if (command.slot >= program_.foreign) broken(command, "has no foreign slot");
    out_.stream_only = true;
    step.first_argument = static_cast<std::uint32_t>(out_.views.size());
    step.arguments = command.binding_count;
    for (std::uint32_t i = 0; i < command.binding_count; ++i) {
      const ProgramBinding& b = binding(command, i);
      out_.views.push_back({nullptr, address(b), 0, b.bytes, b.access});
    }
  }

  void resolve_dispatch(const Command& command, Step& step) {
    if (command.batch_count != 0) {
      throw Unsupported(text("The cuda runtime runs no batches yet (task \"",
                             program_.labels[command.label], "\")."));
    }
    if (command.kernel >= program_.kernels.size()) broken(command, "has no kernel");
    const CompiledKernel& kernel = *compiled_[command.kernel];
    const bool indirect = command.kind == CommandKind::indirect;
    if (!indirect && command.grid >= program_.grids) broken(command, "has no grid");
    if (command.binding_count != kernel.bindings + (indirect ? 1U : 0U)) {
      broken(command,
             text("has ", command.binding_count, " bindings, and its kernel \"",
                  program_.kernels[command.kernel].kernel.name(), "\" takes ", kernel.bindings));
    }
    step.function = kernel.function;
    step.workgroup = kernel.workgroup;
    step.first_argument = static_cast<std::uint32_t>(out_.arguments.size());
    step.arguments = kernel.bindings;
    for (std::uint32_t i = 0; i < kernel.bindings; ++i) {
      out_.arguments.push_back(address(binding(command, i)));
    }
    if (indirect) {
      out_.stream_only = true;
      set_a(step, binding(command, kernel.bindings));
      if (step.bytes < 12) broken(command, "has fewer than 12 bytes of workgroup counts");
    }
    step.has_uniforms = kernel.has_uniforms;
    if (!kernel.has_uniforms) return;
    if (command.uniform_bytes == 0 || command.uniform_bytes > limits_.max_uniform_bytes ||
        command.uniform_offset % limits_.uniform_alignment != 0 ||
        command.uniform_offset + command.uniform_bytes > program_.uniform_bytes) {
      broken(command,
             text("has its uniforms at ", to_text({command.uniform_offset, command.uniform_bytes}),
                  " of ", program_.uniform_bytes, " bytes"));
    }
    step.uniform_offset = command.uniform_offset;
  }

  const Limits& limits_;
  Kernels& kernels_;
  BoundProgram& out_;
  const plan::Program& program_;
  std::vector<PageSlot> slots_;
  std::vector<const CompiledKernel*> compiled_;
};

}  // namespace

LaunchParameters::LaunchParameters(const BoundProgram& bound, const Step& step,
                                   CUdeviceptr uniforms)
    : uniforms_(uniforms + step.uniform_offset) {
  // The driver reads the arguments and does not write them; its interface has no const.
  auto* arguments = const_cast<CUdeviceptr*>(bound.arguments.data());
  for (std::uint32_t i = 0; i < step.arguments; ++i) {
    pointers_[i] = arguments + step.first_argument + i;
  }
  if (step.has_uniforms) pointers_[step.arguments] = &uniforms_;
}

std::shared_ptr<const BoundProgram> bind_program(const Device& device, const Pages& pages,
                                                 Kernels& kernels,
                                                 std::shared_ptr<const plan::Program> program,
                                                 std::span<const memory::PageHandle> handles) {
  device.check_alive();
  auto bound = std::make_shared<BoundProgram>();
  bound->program = std::move(program);
  bound->pages.assign(handles.begin(), handles.end());
  Builder(device, pages, kernels, *bound).build();
  return bound;
}

}  // namespace berth::runtime::cuda
