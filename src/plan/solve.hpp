// SPDX-License-Identifier: Apache-2.0
//
// Solves the pools of a window with the effort that was asked for: chooses among the placers and
// keeps the best answer.
#pragma once

#include <chrono>
#include <vector>

#include "berth/plan/planner.hpp"
#include "plan/window.hpp"

namespace berth::plan::detail {

/// `deadline`: when `best` stops; the other efforts do not look at the clock.
[[nodiscard]] std::vector<PoolPlan> solve(const Problem& problem, const Window& window,
                                          const Options& options,
                                          std::chrono::steady_clock::time_point deadline);

}  // namespace berth::plan::detail
