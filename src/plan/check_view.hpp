// SPDX-License-Identifier: Apache-2.0
//
// What the checker reads off a problem and an order before it judges: positions, lives, hazards.
// Written from the definitions alone; it must share no code with the placer, because an error in
// shared code would hide itself. Pure values; safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::checker {

/// When a version holds bytes, as half-open ticks: tick 0 is before the first task, tick p + 1 is
/// the task at position p, the last tick is after the last task. Empty: no task uses it.
struct Life {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] bool empty() const { return begin >= end; }
};

[[nodiscard]] std::span<const Use> uses_of(const Problem& problem, std::size_t task);
[[nodiscard]] inline std::uint32_t tick_of(std::uint32_t position) { return position + 1; }

/// Throws Error(invalid_argument) if an index of `problem` points outside it, so that the walks
/// below need no bounds. It is no replacement for validate().
void require_indices(const Problem& problem);

/// Position of each task in `order`. Returns: empty if `order` is no permutation of the tasks.
[[nodiscard]] std::vector<std::uint32_t> positions_in(const Problem& problem,
                                                      const std::vector<TaskId>& order);

[[nodiscard]] std::vector<Life> lives_in(const Problem& problem,
                                         const std::vector<std::uint32_t>& positions);

/// Maxima over ranges of bytes: raise a range to a value, ask the most in a range.
/// Cost: O(log n) each, n the number of cuts.
class RangeMaxima {
 public:
  static constexpr std::int64_t kNothing = -1;

  /// `cuts`: every offset at which a range starts or ends.
  explicit RangeMaxima(std::vector<Bytes> cuts);
  void raise(Range range, std::int64_t value);
  [[nodiscard]] std::int64_t most(Range range) const;

 private:
  [[nodiscard]] std::size_t leaf_at(Bytes offset) const;
  void refresh_above(std::size_t node);
  [[nodiscard]] std::int64_t whole_above(std::size_t node) const;

  std::vector<Bytes> cuts_;
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> below_;  ///< per node: the most anywhere in it
  std::vector<std::int64_t> whole_;  ///< per node: raised as a whole
};

/// Walks tasks in program order and answers what each of them has to wait for: earlier writes of
/// the bytes it touches, earlier reads of the bytes it writes. A number per task (a position, a
/// level) stands for the task.
/// Cost: O(log n) per use, however the ranges of a version are cut.
class HazardWalk {
 public:
  explicit HazardWalk(const Problem& problem);
  /// The largest number recorded for a task that `task` must not be swapped with, or kNothing.
  [[nodiscard]] std::int64_t latest_before(std::size_t task) const;
  void record(std::size_t task, std::int64_t number);

 private:
  struct Touched {
    std::int64_t written = RangeMaxima::kNothing;
    std::int64_t read = RangeMaxima::kNothing;
    std::uint32_t cut = 0;  ///< 0: all ranges are the same, else 1 + index into cut_
  };
  struct Cut {
    RangeMaxima written;
    RangeMaxima read;
  };
  const Problem& problem_;
  std::vector<Touched> touched_;
  std::vector<Cut> cut_;
};

/// The data level of each task: one more than the highest level of what it waits for, from 0.
[[nodiscard]] std::vector<std::uint32_t> data_levels(const Problem& problem);

/// Why `pair` may not be computed in place when the versions live as `lives` says. The input must
/// die in the task that makes the output, and be bound there just once. Returns: empty if it may.
[[nodiscard]] std::string in_place_fault(const Problem& problem, const std::vector<Life>& lives,
                                         const std::vector<std::uint32_t>& positions,
                                         const InPlacePair& pair);

/// Barriers of `order` when each version lies on the page that `page_of` names (any number;
/// PageId::kNone: nowhere).
[[nodiscard]] std::uint32_t barriers_of(const Problem& problem, const std::vector<TaskId>& order,
                                        const std::vector<std::uint32_t>& page_of);

[[nodiscard]] std::string task_text(std::size_t task);
[[nodiscard]] std::string version_text(const Problem& problem, std::size_t version);
[[nodiscard]] std::string range_text(Range range);

}  // namespace berth::plan::checker
