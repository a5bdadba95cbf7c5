// SPDX-License-Identifier: Apache-2.0
//
// The drivers around the local search: greedy starts with few and with many pages, assignments with
// smaller and smaller peaks, each of them packed, until the bound or the budget is reached. The
// budget is counted work, not time, so the answer is the same everywhere; only `best` asks a clock.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/keeper.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

/// What a search may spend.
struct Budget {
  std::uint64_t work = 0;              ///< in units of about a nanosecond
  std::uint64_t pack_per_item = 4000;  ///< work for packing one assignment
  std::function<bool()> out_of_time;   ///< asked now and then; empty: never
};

/// Work for `good`: grows with the number of items, and more where lives are long and entangled.
[[nodiscard]] std::uint64_t good_work(const PoolProblem& problem);

/// Shows `keeper` better and better plans on new pages, from greedy starts with few to many pages.
void improve(const PoolProblem& problem, Keeper& keeper, const Budget& budget, Random& random);

/// The same from one cheap start, for `fast`.
void improve_quickly(const PoolProblem& problem, Keeper& keeper, const Budget& budget,
                     Random& random);

}  // namespace berth::plan::detail
