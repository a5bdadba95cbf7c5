// SPDX-License-Identifier: Apache-2.0
//
// From an assignment of items to pages to a plan: packs page after page.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pool_problem.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

struct PackedPages {
  PoolPlan plan;           ///< on new pages, numbered after the bins
  Bytes sum = 0;           ///< of the extents
  std::uint64_t work = 0;  ///< what it cost, roughly
};

/// `page`: from 0. Shares the page limit's fate with the caller: extents may exceed it.
[[nodiscard]] PackedPages pack_pages(const PoolProblem& problem,
                                     const std::vector<std::uint32_t>& page,
                                     std::uint64_t work_per_item, Random& random);

}  // namespace berth::plan::detail
