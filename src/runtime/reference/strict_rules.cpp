// SPDX-License-Identifier: Apache-2.0
//
// Source: WebGPU, "Resource usages" (one usage scope per dispatch and per copy, usages OR-ed per
// whole buffer), "Limits", copyBufferToBuffer.
#include "runtime/reference/strict_rules.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

using plan::Command;
using plan::CommandKind;
using plan::Program;
using plan::ProgramBinding;

class Rules {
 public:
  Rules(const BoundProgram& bound, const Limits& limits) : bound_(bound), limits_(limits) {}

  void check(const Command& command) {
    command_ = &command;
    bindings_ = bindings_of(*bound_.program, command);
    for (std::size_t i = 0; i < bindings_.size(); ++i) check_size(i);
    switch (command.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        check_kernel_bindings();
        check_scope();
        break;
      case CommandKind::copy:
        if (page(0) == page(1)) {
          refuse("source and target lie on one page (" + page_name(0) + ").");
        }
        break;
      default:
        break;
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::internal,
                "WebGPU would refuse " + task_name(*bound_.program, command_->label) + ": " + why);
  }
  [[nodiscard]] const PageMemory* page(std::size_t i) const {
    return bound_.pages[bindings_[i].page.index()];
  }
  [[nodiscard]] std::string page_name(std::size_t i) const {
    return "page " + std::to_string(page(i)->handle.value);
  }
  [[nodiscard]] std::size_t kernel_bindings() const {
    return bindings_.size() - (command_->kind == CommandKind::indirect ? 1 : 0);
  }
  [[nodiscard]] const KernelForm& form() const { return bound_.forms[command_->kernel]; }
  [[nodiscard]] const BindingSignature& signature(std::size_t i) const {
    const KernelSignature& s = bound_.program->kernels[command_->kernel].kernel.signature();
    return s.bindings[form().signature_of_binding[i]];
  }
  [[nodiscard]] std::string name(std::size_t i) const {
    const bool kernel =
        command_->kind == CommandKind::dispatch || command_->kind == CommandKind::indirect;
    if (!kernel) return "binding " + std::to_string(i);
    return i < kernel_bindings() ? "binding '" + signature(i).name + "'" : "the workgroup counts";
  }
  [[nodiscard]] std::string range_text(std::size_t i) const {
    return "bytes [" + std::to_string(bindings_[i].offset) + ", " +
           std::to_string(bindings_[i].offset + bindings_[i].bytes) + ") of " + page_name(i);
  }

  void check_size(std::size_t i) const {
    const ProgramBinding& b = bindings_[i];
    if (b.offset % 4 != 0 || b.bytes % 4 != 0) {
      refuse(name(i) + " covers " + range_text(i) + ": offset and size are no multiples of 4.");
    }
    if (!memory::has(page(i)->use, memory::PageUse::storage)) {
      refuse(name(i) + " lies on " + page_name(i) + ", which is no storage page.");
    }
  }

  void check_kernel_bindings() const {
    const std::size_t count = kernel_bindings();
    if (count > limits_.max_storage_bindings) {
      refuse("it has " + std::to_string(count) + " storage bindings; the limit is " +
             std::to_string(limits_.max_storage_bindings) + ".");
    }
    const Variant variant = bound_.program->kernels[command_->kernel].variant;
    for (std::size_t i = 0; i < count; ++i) {
      const ProgramBinding& b = bindings_[i];
      if (b.offset % limits_.offset_alignment != 0) {
        refuse(name(i) + " begins at " + std::to_string(b.offset) + ", no multiple of " +
               std::to_string(limits_.offset_alignment) + ".");
      }
      if (b.bytes > limits_.max_binding_bytes) {
        refuse(name(i) + " has " + std::to_string(b.bytes) + " bytes; the limit is " +
               std::to_string(limits_.max_binding_bytes) + ".");
      }
      const Bytes least = signature(i).least_elements * bytes_of(signature(i).element);
      if (b.base >= b.bytes || b.bytes - b.base < least) {
        refuse(name(i) + " has " + std::to_string(b.bytes) + " bytes from base " +
               std::to_string(b.base) + " on and needs at least " + std::to_string(least) + ".");
      }
      const Access does = form().access_of_binding[i];
      if (writes(does) && !writes(b.access)) {
        refuse(name(i) + " is written by the kernel but bound as read.");
      }
      if (!writes(does) && writes(b.access) && variant != Variant::promoted) {
        refuse(name(i) + " is only read by the kernel but bound as " + name_of(b.access) + ".");
      }
    }
    if (command_->kind == CommandKind::indirect && writes(bindings_.back().access)) {
      refuse("the workgroup counts are bound as " + std::string(name_of(bindings_.back().access)) +
             ".");
    }
  }

  void check_scope() const {
    for (std::size_t i = 0; i < bindings_.size(); ++i) {
      if (!writes(bindings_[i].access)) continue;
      for (std::size_t j = 0; j < bindings_.size(); ++j) {
        if (j == i || page(i) != page(j)) continue;
        if (!writes(bindings_[j].access)) {
          refuse(page_name(i) + " is written through " + name(i) + " and read through " + name(j) +
                 " in one dispatch.");
        }
        if (rounded(i).overlaps(rounded(j))) {
          refuse(name(i) + " and " + name(j) + " are both writable and overlap after rounding to " +
                 std::to_string(limits_.offset_alignment) + ": " + range_text(i) + " and " +
                 range_text(j) + ".");
        }
      }
    }
  }
  [[nodiscard]] Range rounded(std::size_t i) const {
    const Bytes begin = align_down(bindings_[i].offset, limits_.offset_alignment);
    const Bytes end = align_up(bindings_[i].offset + bindings_[i].bytes, limits_.offset_alignment);
    return {begin, end - begin};
  }

  const BoundProgram& bound_;
  const Limits& limits_;
  const Command* command_ = nullptr;
  std::span<const ProgramBinding> bindings_;
};

void check_grid(const Program& program, std::uint32_t label, Grid grid, const Limits& limits) {
  const std::uint32_t most = std::max({grid.x, grid.y, grid.z});
  if (most <= limits.max_groups_per_dimension) return;
  throw Error(ErrorCode::internal, "WebGPU would refuse " + task_name(program, label) + ": " +
                                       std::to_string(most) +
                                       " workgroups in one dimension; the limit is " +
                                       std::to_string(limits.max_groups_per_dimension) + ".");
}

}  // namespace

void check_rules(const BoundProgram& bound, const Limits& limits) {
  Rules rules(bound, limits);
  for (const Command& command : bound.program->commands) rules.check(command);
}

void check_rules(const Job& job, const Limits& limits) {
  const Program& program = *job.bound->program;
  for (const Command& command : program.commands) {
    if (command.kind != CommandKind::dispatch && command.kind != CommandKind::indirect) continue;
    if (command.uniform_bytes > limits.max_uniform_bytes ||
        (command.uniform_bytes != 0 && command.uniform_offset % limits.uniform_alignment != 0)) {
      throw Error(ErrorCode::internal,
                  "WebGPU would refuse " + task_name(program, command.label) +
                      ": its uniform block of " + std::to_string(command.uniform_bytes) +
                      " bytes at " + std::to_string(command.uniform_offset) + " is larger than " +
                      std::to_string(limits.max_uniform_bytes) + " bytes or not aligned to " +
                      std::to_string(limits.uniform_alignment) + ".");
    }
    if (command.kind == CommandKind::dispatch && command.batch_count == 0) {
      check_grid(program, command.label, job.grids[command.grid], limits);
    }
    for (const plan::BatchEntry& entry :
         std::span(program.batch).subspan(command.first_batch, command.batch_count)) {
      check_grid(program, entry.label, job.grids[entry.grid], limits);
    }
  }
}

}  // namespace berth::runtime::reference
