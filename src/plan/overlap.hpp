// SPDX-License-Identifier: Apache-2.0
//
// Most overlap: spends a stated amount of memory on fewer barriers. Starts from the least-memory
// plan; the stretches that the data alone demands say which items had better lie apart.
#pragma once

#include "plan/good.hpp"
#include "plan/keeper.hpp"

namespace berth::plan::detail {

/// Returns: the plan with the fewest barriers that was found with at most `most` bytes to make; of
/// those the one with the fewest bytes; `least` if nothing beats it.
[[nodiscard]] PoolPlan spread_out(const PoolProblem& problem, const PoolPlan& least, Bytes most,
                                  const Budget& budget, Random& random);

}  // namespace berth::plan::detail
