// SPDX-License-Identifier: Apache-2.0
//
// Puts the new pages of a finished plan into free ranges of existing pages, so that a window that
// comes back finds the pages it made the last time. Never changes how items lie to each other.
#pragma once

#include "plan/pool_problem.hpp"

namespace berth::plan::detail {

/// Moves whole new pages, the largest first, each into the smallest free range that holds it.
void reuse_bins(const PoolProblem& problem, PoolPlan& plan);

}  // namespace berth::plan::detail
