// SPDX-License-Identifier: Apache-2.0
//
// The placer that always works and never takes long: walks over time, gives each item the best
// fitting hole on a page that it may lie on, and opens a page when none has room. Near-linear in
// the number of items; greedy, so the better placers are tried first where they can be afforded.
#pragma once

#include "plan/rooms.hpp"

namespace berth::plan::detail {

/// Returns: a right plan within the page limit; every item must fit on a page of its own.
[[nodiscard]] PoolPlan sweep(const PoolProblem& problem, Bins bins);

}  // namespace berth::plan::detail
