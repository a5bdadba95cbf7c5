// SPDX-License-Identifier: Apache-2.0
//
// A program bound to pages of host memory, and one submission of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/reference/kernel_forms.hpp"
#include "runtime/reference/pages.hpp"

namespace berth::runtime::reference {

/// Immutable; outlives the Prepared that made it as long as a submission is under way.
struct BoundProgram {
  std::shared_ptr<const plan::Program> program;
  std::vector<memory::PageHandle> handles;
  std::vector<PageMemory*> pages;  ///< per program page
  std::vector<KernelForm> forms;   ///< per program kernel
};

/// Errors: Error(internal) if a binding lies outside its page or a command names what is not there;
///   Error(kernel).
[[nodiscard]] std::shared_ptr<const BoundProgram> bind_program(
    std::shared_ptr<const plan::Program> program, std::span<const memory::PageHandle> handles,
    const Pages& pages);

/// What changes from one submission to the next, as addresses.
struct Job {
  std::shared_ptr<const BoundProgram> bound;
  std::uint64_t ticket = 0;
  PageMemory* uniform_page = nullptr;
  Bytes uniform_offset = 0;
  std::vector<Grid> grids;
  std::vector<std::byte*> uploads;
  std::vector<std::byte*> readbacks;
  std::vector<ForeignFunction> foreign;
};

/// A task as errors name it.
[[nodiscard]] std::string task_name(const plan::Program& program, std::uint32_t label);

[[nodiscard]] inline std::span<const plan::ProgramBinding> bindings_of(
    const plan::Program& program, const plan::Command& command) {
  return std::span(program.bindings).subspan(command.first_binding, command.binding_count);
}

/// The bytes of the uniform block at `offset` of the program's uniform bytes.
[[nodiscard]] std::span<const std::byte> uniforms_of(const Job& job, const plan::Command& command,
                                                     Bytes offset);

/// The workgroups of an indirect dispatch; one above the limit in any dimension means none.
/// Source: WebGPU, dispatchWorkgroupsIndirect.
[[nodiscard]] Grid indirect_grid(const std::byte* counts, std::uint32_t limit);

/// What a foreign function of this command is given.
[[nodiscard]] std::vector<ForeignView> foreign_views(const BoundProgram& bound,
                                                     const plan::Command& command);

}  // namespace berth::runtime::reference
