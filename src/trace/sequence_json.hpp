// SPDX-License-Identifier: Apache-2.0
//
// Sequences of windows that share long-lived tensors, as JSON: a window's format with
//   "held": true   at tensors that live across windows,
//   "windows": [{"name", "tasks"}]   instead of tasks, and
//   "steps": [indices of windows]    the order in which they run.
// scripts/make_plan_windows.py makes such files. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/window.hpp"

namespace berth::trace {

/// A program of several windows.
struct Sequence {
  std::string name;
  std::vector<Window> windows;       ///< each with all tensors of the sequence, whatever it uses
  std::vector<bool> held;            ///< per tensor: lives across windows
  std::vector<std::uint32_t> steps;  ///< which window runs when
};

/// Pools of a sequence's versions: held tensors and transients never share a page.
inline constexpr plan::PoolId kTransientPool{0};
inline constexpr plan::PoolId kHeldPool{1};

/// Reads a sequence. `source` names the text in errors.
/// Errors: as read_window_json(); a step that names no window.
[[nodiscard]] Sequence read_sequence_json(std::string_view text, std::string_view source);

/// The problem of one step: held tensors are of kHeldPool, outlive the window, and are incoming if
/// an earlier step wrote them. Places that earlier steps gave are for the caller to fill in.
[[nodiscard]] plan::Problem to_problem(const Sequence& sequence, std::size_t step);

}  // namespace berth::trace
