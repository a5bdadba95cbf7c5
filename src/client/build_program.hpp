// SPDX-License-Identifier: Apache-2.0
//
// Turns a recorded window and its plan into a program: commands over symbolic pages, uniforms
// packed for the target, levels. Pure arithmetic on plain data; decides nothing about memory.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/plan/problem.hpp"
#include "berth/plan/repair.hpp"
#include "client/window.hpp"
#include "plan/program.hpp"
#include "runtime/backend.hpp"

namespace berth::client {

/// What a page of the program stands for.
struct PageSource {
  enum class Kind : std::uint8_t {
    planned,      ///< a page of the plan
    dummy_read,   ///< stands in for empty tensors that are read …
    dummy_write,  ///< … and written
  };
  Kind kind = Kind::planned;
  plan::PageId planned;
};

struct BuiltProgram {
  plan::Program program;
  std::vector<PageSource> page_sources;  ///< per page of the program
  std::vector<std::byte> uniforms;       ///< Program::uniform_bytes, packed
  std::vector<Grid> grids;               ///< by Command::grid
};

/// Errors: none; the plan has passed the checker.
[[nodiscard]] BuiltProgram build_program(const Window& window, const plan::Repaired& repaired,
                                         const plan::Plan& plan,
                                         const runtime::Capabilities& device);

}  // namespace berth::client
