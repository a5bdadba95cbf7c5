// SPDX-License-Identifier: Apache-2.0
//
// What every new window gets: greedy plans, a short local search, the exact answer for tiny pools.
// Near-linear; a microsecond or two per item.
#pragma once

#include "plan/keeper.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

/// Shows `keeper` at least one right plan.
void solve_fast(const PoolProblem& problem, Keeper& keeper, Random& random);

}  // namespace berth::plan::detail
