// SPDX-License-Identifier: Apache-2.0
//
// Local search over which item lies on which page. Looks at loads only (bytes live on a page at
// each position); pack() then finds the offsets. Each page has a cap, the caps together are the
// goal, and what rises above a cap is lowered until nothing does:
//
//   load ^    ##                 a move takes one item to another page, with the chain of swaps
//   that
//        |----##------- cap      its conflicts force (Kempe), or hands some cap to another page
//        |  ######  ##
//        +-------------> position
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pool_problem.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

class AssignSearch {
 public:
  /// `pages`: how many pages may be used at most.
  AssignSearch(const PoolProblem& problem, std::uint32_t pages);

  /// Assigns greedily, item by item, where the peaks rise least; opens pages up to `wanted` before
  /// it lets one rise by an item's whole size. Returns: whether the pages sufficed.
  bool start_greedily(const std::vector<std::uint32_t>& order, std::uint32_t wanted);
  /// Takes a right assignment with page numbers below `active`; only those pages are used from now.
  void start(const std::vector<std::uint32_t>& page, std::uint32_t active);
  /// Looks for an assignment whose peaks sum up to `goal` at most, from where it stands.
  /// Returns: whether one was found within `work`.
  bool reach(Bytes goal, std::uint64_t work, Bytes heat, Random& random);

  /// Makes random moves, however bad: somewhere else to start from.
  void shake(std::uint32_t moves, Random& random);

  [[nodiscard]] Bytes current_sum();
  [[nodiscard]] const std::vector<std::uint32_t>& current() const { return page_; }
  [[nodiscard]] Bytes best_sum() const { return best_sum_; }
  [[nodiscard]] const std::vector<std::uint32_t>& best() const { return best_; }
  /// Work done so far, in units of about a nanosecond: the measure for budgets, never the clock.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  using Load = std::int64_t;
  static constexpr Load kNoCap = std::int64_t{1} << 62;

  [[nodiscard]] Load* load(std::uint32_t page) {
    return load_.data() + std::size_t{page} * positions_;
  }
  void place_caps(Bytes goal, Random& random);
  [[nodiscard]] std::uint32_t pick_item(Random& random);
  [[nodiscard]] bool gather_chain(std::uint32_t item, std::uint32_t to);
  [[nodiscard]] Load evaluate(std::uint32_t from, std::uint32_t to);
  void apply(std::uint32_t from, std::uint32_t to);
  void hand_over_cap(Bytes heat, Random& random);
  [[nodiscard]] Load overflow(std::uint32_t page, Load cap);
  void note(std::uint32_t page, std::uint32_t low, std::uint32_t high);
  void note_all();
  void note_best();

  const PoolProblem& problem_;
  std::uint32_t pages_;  ///< in use now
  std::uint32_t positions_ = 0;
  std::vector<std::uint32_t> start_;  ///< of items, on the shortened time line
  std::vector<std::uint32_t> end_;
  std::vector<std::uint32_t> live_first_;  ///< per position: the items that live there
  std::vector<std::uint32_t> live_;
  std::vector<Load> load_;
  std::vector<Load> cap_;
  std::vector<std::uint32_t> page_;
  std::vector<std::uint32_t> above_;     ///< cells (page, position) above their cap, in no order
  std::vector<std::uint32_t> above_at_;  ///< per cell: index into above_, or kNone
  Load excess_ = 0;                      ///< sum of what lies above the caps
  std::vector<std::uint32_t> chain_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t stamp_ = 0;
  std::uint32_t low_ = 0;  ///< hull of the chain's lives
  std::uint32_t high_ = 0;
  std::vector<Load> change_;  ///< by how much the target page rises
  std::vector<std::uint32_t> best_;
  Bytes best_sum_ = kWholeSize;
  std::uint64_t work_ = 0;
};

}  // namespace berth::plan::detail
