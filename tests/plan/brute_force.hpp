// SPDX-License-Identifier: Apache-2.0
//
// The planner's definitions written a second time, as plainly as they can be said and without a
// thought for speed: pairs of everything, every partition, every stacking. Tests hold both the
// placer and the checker against it. For windows of whole-version uses and up to ~10 versions.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/plan/planner.hpp"

namespace berth::plan::brute {

/// The tasks in program order.
[[nodiscard]] std::vector<TaskId> program_order(const Problem& problem);
/// The tasks sorted stably by data level.
[[nodiscard]] std::vector<TaskId> level_order(const Problem& problem);

/// True if tasks a and b touch common bytes and one of them writes these.
[[nodiscard]] bool hazard(const Problem& problem, std::size_t a, std::size_t b);
/// Pairs of tasks with a hazard on a version that no task in between writes; for whole uses.
[[nodiscard]] std::size_t direct_hazards(const Problem& problem);
[[nodiscard]] std::vector<std::uint32_t> levels(const Problem& problem);
[[nodiscard]] Bytes max_live(const Problem& problem, const std::vector<TaskId>& order);
[[nodiscard]] std::uint32_t barriers(const Problem& problem, const std::vector<TaskId>& order,
                                     const std::vector<Place>& places);

/// True if both versions are live in one task (or before the first, or after the last one).
[[nodiscard]] bool live_together(const Problem& problem, const std::vector<TaskId>& order,
                                 std::size_t a, std::size_t b);
/// True if some task writes one of them and only reads the other.
[[nodiscard]] bool conflict(const Problem& problem, std::size_t a, std::size_t b);

/// The least sum of page extents of a valid plan in `order`, with sizes rounded to alignments; no
/// fixed places, no existing pages, no in-place pairs. kWholeSize if no plan fits the page limit.
[[nodiscard]] Bytes optimum(const Problem& problem, const std::vector<TaskId>& order);

/// A plan with the given places, complete with extents, levels and statistics, right or wrong.
[[nodiscard]] Plan plan_at(const Problem& problem, std::vector<Place> places,
                           std::vector<TaskId> order);

}  // namespace berth::plan::brute
