// SPDX-License-Identifier: Apache-2.0
//
// A Problem in one order, turned into one PoolProblem per pool, and back into a Plan. Here the
// rules become geometry: lifetimes from the order, conflicts from the tasks' accesses, in-place
// chains as one item, fixed places as blocked pages. Says what placement cannot solve (see repair).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/plan/problem.hpp"
#include "plan/pool_problem.hpp"

namespace berth::plan::detail {

/// Positions in the order at which a version holds bytes; start == end: it is not used.
struct Life {
  std::uint32_t start = 0;
  std::uint32_t end = 0;
};

/// From the first use to the last; from the window's start if incoming, to its end if it outlives.
[[nodiscard]] std::vector<Life> lives_of(const Problem& problem, const std::vector<TaskId>& order);

/// Whether outputs take over their inputs' bytes where the problem allows it.
enum class InPlace : std::uint8_t { take, leave };

struct Window {
  std::vector<TaskId> order;
  std::vector<std::uint32_t> position;  ///< per task
  std::vector<Life> lives;              ///< per version
  std::vector<Bytes> alignment;         ///< per version, of its offset: its own, or of its bindings
  std::vector<std::uint32_t> taken;     ///< indices into Problem::in_place
  std::vector<PoolProblem> pools;
  std::vector<std::uint32_t> pool_of;  ///< per version: index into pools; kNone: see has_item()
  std::vector<std::uint32_t> item_of;  ///< per version: item of that pool
  /// Per version: its fixed place, or the one it takes over in place; invalid page: none.
  std::vector<Place> given;
  /// Set if no placement can be right: one sentence that names task and versions.
  std::optional<std::string> unsolvable;

  /// Fixed, unused and empty versions have no item.
  [[nodiscard]] bool has_item(std::size_t version) const { return pool_of[version] != kNone; }
};

[[nodiscard]] Window make_window(const Problem& problem, std::vector<TaskId> order,
                                 InPlace in_place);

/// The places of all versions and the pages, from the pools' answers. Statistics stay empty.
[[nodiscard]] Plan make_plan(const Problem& problem, const Window& window,
                             const std::vector<PoolPlan>& answers);

}  // namespace berth::plan::detail
