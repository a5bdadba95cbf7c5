// SPDX-License-Identifier: Apache-2.0
//
// Turns a recorded window into the planner's problem: tensors become versions (a whole write starts
// a new one), uses speak of versions. Knows places only through what it is told. Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/plan/problem.hpp"
#include "client/window.hpp"
#include "runtime/backend.hpp"

namespace berth::client {

/// The pools of the planner's problem: transients and long-lived tensors never share a page.
inline constexpr plan::PoolId kTransientPool{0};
inline constexpr plan::PoolId kPersistentPool{1};

/// What is known of a tensor of the window when it closes.
struct TensorFacts {
  std::optional<plan::Place> place;  ///< from an earlier window; page = index into Problem::pages
  bool movable = true;
  bool held = false;  ///< a handle still holds it
};

/// The problem of a window, and how its versions belong to the window's tensors.
struct WindowProblem {
  plan::Problem problem;
  /// Per version: index of its tensor in the window.
  std::vector<std::uint32_t> tensor_of;
  /// Per tensor of the window: its last version, or invalid if it has no bytes.
  std::vector<plan::VersionId> last_version;
  /// Per tensor: the version that lay in its old place, or invalid if no task needs the old
  /// contents.
  std::vector<plan::VersionId> incoming_version;
  /// Versions started by overwriting an earlier one.
  std::uint32_t renames = 0;
};

/// Builds it. `facts[i]` speaks of `window.tensors()[i]`. Problem::pages and goal are left to the
/// caller. Uses of no bytes are left out; those that stay keep their order. In-place pairs are
/// listed where the kernel has code for them: that the input dies there is the planner's to see.
[[nodiscard]] WindowProblem make_problem(const Window& window,
                                         const std::vector<TensorFacts>& facts,
                                         const runtime::Capabilities& device);

}  // namespace berth::client
