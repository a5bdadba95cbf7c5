// SPDX-License-Identifier: Apache-2.0
//
// The optimum of a small pool on new pages: branch and bound over assignments of items to pages,
// with the exact extent of every set of items on one page. For up to kMostExact items; says whether
// it is done or only ran out of steps.
#pragma once

#include <cstdint>

#include "plan/keeper.hpp"

namespace berth::plan::detail {

inline constexpr std::size_t kMostExact = 16;

/// Shows `keeper` a cheapest plan unless it has one already. Returns: whether the keeper's plan is
/// now proven to be the best one on new pages.
bool solve_exactly(const PoolProblem& problem, Keeper& keeper, std::uint64_t steps);

}  // namespace berth::plan::detail
