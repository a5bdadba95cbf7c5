// SPDX-License-Identifier: Apache-2.0
//
// Hazards and data levels: which tasks may not be swapped, and how early each may run.
// A hazard is a pair (a, b) in program order that uses a common byte of a version, one of the two
// writing it, with no task in between that writes that byte. Knows nothing of placement, except
// that versions fixed on common bytes cannot be parted by renaming (Aliases::respect).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::detail {

/// Whether versions that are fixed on common bytes of a page count as one.
enum class Aliases : std::uint8_t { ignore, respect };
[[nodiscard]] bool has_aliases(const Problem& problem);

/// The direct predecessors of every task, by TaskId.
class Hazards {
 public:
  Hazards(const Problem& problem, Aliases aliases);

  [[nodiscard]] std::span<const std::uint32_t> before(std::size_t task) const {
    return {to_.data() + first_[task], to_.data() + first_[task + 1]};
  }
  [[nodiscard]] std::size_t count() const { return to_.size(); }
  [[nodiscard]] std::size_t tasks() const { return first_.size() - 1; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
};

/// Per task: one more than the highest level among its hazards, 0 if it has none.
[[nodiscard]] std::vector<std::uint32_t> data_levels(const Hazards& hazards);

/// The program order, and the tasks sorted stably by level.
[[nodiscard]] std::vector<TaskId> program_order(std::size_t tasks);
[[nodiscard]] std::vector<TaskId> level_order(const std::vector<std::uint32_t>& levels);

}  // namespace berth::plan::detail
