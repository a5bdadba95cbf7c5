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
#include <utility>
#include <vector>

#include "plan/pool_problem.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

/// Pairs of items that had better not share a page because tasks that could run side by side touch
/// them. A stretch is what runs between two barriers; it is spoilt if one of its pairs shares a
/// page.
struct SoftPairs {
  struct End {
    std::uint32_t other = 0;
    std::uint32_t stretch = 0;
  };
  std::vector<std::uint32_t> first;  ///< per item, and one more: its ends
  std::vector<End> ends;
  std::vector<std::uint32_t> first_pair;  ///< per stretch, and one more
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  [[nodiscard]] std::uint32_t stretches() const {
    return static_cast<std::uint32_t>(first_pair.size() - 1);
  }
};

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

  /// Lowers spoilt stretches while the peaks stay within `goal` together. `soft` has to live as
  /// long as the search. Returns: the fewest spoilt pairs' cost found; best_soft() is that
  /// assignment.
  bool spread(const SoftPairs& soft, Bytes goal, std::uint64_t work, Bytes heat, Random& random);
  /// Lowers the number of barriers itself, by moves that keep the peaks within `goal`. Slow, but it
  /// sees what the pairs do not. Returns: the barriers of best_soft().
  std::uint32_t polish(Bytes goal, std::uint64_t work, Random& random);
  [[nodiscard]] const std::vector<std::uint32_t>& best_soft() const { return best_soft_; }

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

  [[nodiscard]] Load soft_cost(std::int32_t spoilt) const {
    return spoilt == 0 ? 0 : per_stretch_ + per_pair_ * spoilt;
  }
  [[nodiscard]] Load soft_change(std::uint32_t from, std::uint32_t to);
  void apply_soft();
  void count_spoilt();
  bool raise_cap(std::uint32_t page);
  [[nodiscard]] std::uint32_t pick_spoilt(Random& random) const;

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

  const SoftPairs* soft_ = nullptr;
  Load per_stretch_ = 0;
  Load per_pair_ = 0;
  std::vector<std::int32_t> spoilt_;     ///< per stretch: pairs that share a page
  std::vector<std::int32_t> spoilt_by_;  ///< per stretch: what the chain would change
  std::vector<std::uint32_t> changed_;   ///< stretches with an entry there
  std::vector<std::uint32_t> bad_;       ///< spoilt stretches, in no order
  std::vector<std::uint32_t> bad_at_;    ///< per stretch: index into bad_, or kNone
  std::vector<std::uint32_t> best_soft_;
};

}  // namespace berth::plan::detail
