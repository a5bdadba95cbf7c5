// SPDX-License-Identifier: Apache-2.0
#include "plan/exact.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "plan/stack.hpp"

namespace berth::plan::detail {
namespace {

using Set = std::uint32_t;  // of items

/// The least extent of a set of items on one page. In some best packing no item can move down, so
/// each lies on one that it meets (or on the ground), and in the order of their offsets every item
/// starts at the highest end of those before that it meets. All such orders are tried.
class OnePage {
 public:
  OnePage(const std::vector<Item>& items, std::uint64_t& steps)
      : items_(items), steps_(steps), memo_(std::size_t{1} << items.size(), kUnknown) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (std::size_t j = 0; j < items.size(); ++j) {
        if (items[i].meets(items[j])) meets_[i] |= Set{1} << j;
      }
    }
  }

  Bytes least(Set set) {
    Bytes& known = memo_[set];
    if (known == kUnknown) {
      pack(set);
      if (steps_ == 0) return best_;
      known = best_;
    }
    return known;
  }

  /// The offsets that go with least(set).
  const std::array<Bytes, kMostExact>& offsets(Set set) {
    pack(set);
    return best_offset_;
  }

 private:
  static constexpr Bytes kUnknown = kWholeSize;

  void pack(Set set) {
    bound_ = 0;
    for (Set rest = set; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      Bytes live = 0;  // at the item's birth
      for (Set other = set & meets_[i]; other != 0; other &= other - 1) {
        const Item& item = items_[static_cast<std::size_t>(std::countr_zero(other))];
        if (item.start <= items_[i].start) live += item.size;
      }
      bound_ = std::max(bound_, live);
    }
    best_ = kWholeSize;
    branch(set, 0, 0);
  }

  void branch(Set left, Bytes level, Bytes extent) {
    if (left == 0) {
      best_ = extent;
      best_offset_ = offset_;
      return;
    }
    for (Set rest = left; rest != 0 && best_ > bound_; rest &= rest - 1) {
      if (steps_ == 0) return;
      --steps_;
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      Bytes at = 0;
      for (Set below = placed_ & meets_[i]; below != 0; below &= below - 1) {
        const auto b = static_cast<std::size_t>(std::countr_zero(below));
        at = std::max(at, offset_[b] + items_[b].size);
      }
      at = align_up(at, items_[i].alignment);
      const Bytes end = std::max(extent, at + items_[i].size);
      if (at < level || end >= best_) continue;
      offset_[i] = at;
      placed_ |= Set{1} << i;
      branch(left & ~(Set{1} << i), at, end);
      placed_ &= ~(Set{1} << i);
    }
  }

  const std::vector<Item>& items_;
  std::uint64_t& steps_;
  std::array<Set, kMostExact> meets_{};
  std::vector<Bytes> memo_;  ///< per set; one entry for each subset of the items
  std::array<Bytes, kMostExact> offset_{};
  std::array<Bytes, kMostExact> best_offset_{};
  Set placed_ = 0;
  Bytes bound_ = 0;
  Bytes best_ = 0;
};

class Exact {
 public:
  Exact(const PoolProblem& problem, Keeper& keeper, std::uint64_t steps)
      : problem_(problem),
        keeper_(keeper),
        steps_(steps),
        one_page_(problem.items, steps_),
        order_(by_size(problem)) {
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      for (const std::uint32_t n : problem.conflicts.of(i)) enemies_[i] |= Set{1} << n;
    }
    const Bytes live = max_live(problem.items, problem.positions);
    bound_ = align_up(live, problem.granularity);
  }

  bool run() {
    // Existing pages may hold parts of a plan for nothing; that is for the keeper to compare.
    best_ = problem_.bins.empty() ? keeper_.cost().to_make : kWholeSize;
    if (best_ > bound_) branch((Set{1} << problem_.items.size()) - 1, 0);
    return steps_ != 0;
  }

 private:
  [[nodiscard]] Bytes rounded(Bytes extent) const { return align_up(extent, problem_.granularity); }

  /// What page `p` costs more with item `i`, or kWholeSize if it may not lie there. `p` may be a
  /// new page.
  Bytes growth(std::size_t p, std::uint32_t i) {
    const Set on = p < pages_.size() ? pages_[p] : 0;
    if ((on & enemies_[i]) != 0) return kWholeSize;
    const Bytes extent = one_page_.least(on | Set{1} << i);
    if (extent > problem_.page_limit && on != 0) return kWholeSize;
    return rounded(extent) - (on == 0 ? 0 : costs_[p]);
  }

  /// Branches on the item that makes every page grow most: it decides the cost, and often kills.
  void branch(Set left, Bytes sum) {
    if (steps_ == 0 || best_ <= bound_) return;
    --steps_;
    if (left == 0) {
      offer(sum);
      return;
    }
    auto pick = static_cast<std::uint32_t>(std::countr_zero(left));
    bool picked = false;
    Bytes most = 0;
    for (const std::uint32_t i : order_) {  // ties: the largest item
      if ((left >> i & 1U) == 0) continue;
      Bytes least = kWholeSize;
      for (std::size_t p = 0; p <= pages_.size() && least > 0; ++p) {
        least = std::min(least, growth(p, i));
      }
      if (sum + least >= best_) return;
      if (!picked || least > most) {
        picked = true;
        pick = i;
        most = least;
      }
    }
    const std::size_t open = pages_.size();
    std::array<std::pair<Bytes, std::size_t>, kMostExact + 1> choices;
    std::size_t count = 0;
    for (std::size_t p = 0; p <= open; ++p) {
      const Bytes rise = growth(p, pick);
      if (rise != kWholeSize) choices[count++] = {rise, p};
    }
    std::sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(count));
    const Set bit = Set{1} << pick;
    for (std::size_t c = 0; c < count; ++c) {
      const auto [rise, p] = choices[c];
      if (sum + rise >= best_ || steps_ == 0) break;
      if (p == open) {
        pages_.push_back(0);
        costs_.push_back(0);
      }
      pages_[p] |= bit;
      costs_[p] += rise;
      branch(left & ~bit, sum + rise);
      pages_[p] &= ~bit;
      costs_[p] -= rise;
      pages_.resize(open);
      costs_.resize(open);
    }
  }

  void offer(Bytes sum) {
    const auto existing = static_cast<std::uint32_t>(problem_.bins.size());
    PoolPlan plan;
    plan.page.resize(problem_.items.size());
    plan.offset.resize(problem_.items.size());
    plan.extent.assign(existing, 0);
    for (std::uint32_t p = 0; p < pages_.size(); ++p) {
      const auto& offsets = one_page_.offsets(pages_[p]);
      plan.extent.push_back(0);
      for (Set rest = pages_[p]; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        plan.page[i] = existing + p;
        plan.offset[i] = offsets[i];
        plan.extent.back() = std::max(plan.extent.back(), offsets[i] + problem_.items[i].size);
      }
    }
    if (steps_ == 0) return;
    best_ = sum;
    keeper_.offer(std::move(plan));
  }

  const PoolProblem& problem_;
  Keeper& keeper_;
  std::uint64_t steps_;
  OnePage one_page_;
  std::vector<std::uint32_t> order_;
  std::array<Set, kMostExact> enemies_{};
  std::vector<Set> pages_;
  std::vector<Bytes> costs_;
  Bytes bound_ = 0;
  Bytes best_ = 0;
};

}  // namespace

bool solve_exactly(const PoolProblem& problem, Keeper& keeper, std::uint64_t steps) {
  if (problem.items.size() > kMostExact) return false;
  return Exact(problem, keeper, steps).run();
}

}  // namespace berth::plan::detail
