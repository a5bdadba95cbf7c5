// SPDX-License-Identifier: Apache-2.0
//
// Greedy placement from the largest item to the smallest: each goes where the pages grow least.
// Looks at every item of a page each time, so it is for windows of up to a few thousand items.
#pragma once

#include <span>

#include "plan/rooms.hpp"

namespace berth::plan::detail {

/// Items by falling size, then falling length of life, then first use.
[[nodiscard]] std::vector<std::uint32_t> by_size(const PoolProblem& problem);

/// `wanted`: how many new pages are opened as soon as an item would make an open one grow by its
/// whole size. Returns: a right plan within the page limit.
[[nodiscard]] PoolPlan stack(const PoolProblem& problem, std::span<const std::uint32_t> order,
                             std::uint32_t wanted, Bins bins);

}  // namespace berth::plan::detail
