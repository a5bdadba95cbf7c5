// SPDX-License-Identifier: Apache-2.0
#include "plan/good.hpp"

#include <algorithm>
#include <numeric>

#include "plan/assign_search.hpp"
#include "plan/page_packing.hpp"
#include "plan/stack.hpp"

namespace berth::plan::detail {
namespace {

/// More pages than this are never tried by the search; the greedy placers may open more.
constexpr std::uint32_t kMostPages = 8;

/// First fit on one page looks at all of it, so beyond this the sweep's answer stands.
constexpr std::size_t kMostOnOnePage = 60'000;

using Assignment = std::vector<std::uint32_t>;

std::uint32_t pages_of(const Assignment& page) {
  return page.empty() ? 0 : *std::max_element(page.begin(), page.end()) + 1;
}

class Improver {
 public:
  Improver(const PoolProblem& problem, Keeper& keeper, const Budget& budget, Random& random)
      : problem_(problem),
        keeper_(keeper),
        budget_(budget),
        random_(random),
        bound_(max_live(problem.items, problem.positions)),
        search_(problem, kMostPages),
        starts_(kMostPages + 1) {
    Bytes total = 0;
    for (const Item& item : problem.items) {
      unit_ = std::gcd(unit_, item.size);
      total += item.size;
    }
    heat_ = total / problem.items.size();
  }

  void start_greedily() {
    constexpr std::size_t kMostStacked = 1500;  // stack() is quadratic
    if (problem_.items.size() <= kMostStacked) {
      find_starts();
    } else {
      start_quickly();
    }
  }

  void start_quickly() {
    const std::vector<std::uint32_t> order = by_size(problem_);
    fewest_ = kMostPages + 1;
    for (const std::uint32_t wanted : {4U, 6U}) {
      if (!search_.start_greedily(order, wanted)) continue;
      const std::uint32_t used = pages_of(search_.current());
      fewest_ = std::min(fewest_, used);
      for (std::uint32_t k = used; k <= kMostPages; ++k) {
        if (starts_[k].empty() || k == used) starts_[k] = search_.current();
      }
    }
    if (!keeper_.plan().page.empty()) packed_ = keeper_.cost().held;
  }

  /// As long as the budget lasts: lower assignments. Packs the last one only.
  void run_quickly() {
    if (fewest_ > kMostPages) return;
    const std::uint64_t episode = budget_.work / 8;
    for (std::uint32_t failures = 0; search_.work() < budget_.work;) {
      const std::uint32_t known = pages_of(search_.best());
      const std::uint32_t pages = std::min(known + 1, kMostPages);
      search_.start(search_.best(), pages);
      const Bytes gap = search_.best_sum() - std::min(bound_, search_.best_sum());
      if (gap == 0) break;
      const Bytes step = std::max(std::min(unit_, gap), gap >> (std::min(failures, 3U) + 1));
      const std::uint64_t left = budget_.work - search_.work();
      if (!search_.reach(search_.best_sum() - step, std::min(episode, left), heat_, random_)) {
        ++failures;
      }
    }
    if (search_.best_sum() >= packed_) return;
    search_.start(search_.best(), pages_of(search_.best()));
    pack_current();
  }

  void run() {
    if (fewest_ > kMostPages) return;
    const std::uint64_t episode = std::max<std::uint64_t>(budget_.work / 20, 20'000);
    std::uint32_t failures = 0;
    while (!finished()) {
      pack_work_ += 200;  // a round is never free, so the loop ends
      const std::uint32_t known = pages_of(search_.best());
      const std::uint32_t pages =
          std::clamp(known + random_.below(4), fewest_,
                     std::max(fewest_, std::min(kMostPages, problem_.few_pages)));
      search_.start(pages >= known ? search_.best() : starts_[pages], pages);
      // First far below what is known, then by less and less.
      const Bytes gap = search_.best_sum() - std::min(bound_, search_.best_sum());
      Bytes goal = search_.best_sum() - std::min(unit_, gap);
      if (failures < 3)
        goal = search_.best_sum() - std::max(std::min(unit_, gap), gap >> (failures + 1));
      const Bytes heat = heat_ * (4 + random_.below(8)) / 6;
      const bool lower = gap != 0 && search_.reach(goal, episode, heat, random_);
      failures = lower ? 0 : failures + 1;
      if (!lower) {
        // Nothing lower: another assignment that is no worse may pack better.
        if (packed_ <= search_.best_sum()) continue;
        if (gap == 0)
          search_.shake(3 + static_cast<std::uint32_t>(problem_.items.size() / 16), random_);
        const Bytes slack = std::max(search_.best_sum(), packed_ - unit_);
        if (!search_.reach(slack, episode / 4, heat, random_)) continue;
      }
      pack_current();
    }
  }

 private:
  /// One greedy assignment for each number of pages.
  void find_starts() {
    const std::vector<std::uint32_t> order = by_size(problem_);
    const auto existing = static_cast<std::uint32_t>(problem_.bins.size());
    for (std::uint32_t wanted = 1; wanted <= kMostPages; ++wanted) {
      PoolPlan greedy = stack(problem_, order, wanted, Bins::ignore);
      for (std::uint32_t& page : greedy.page) page -= existing;
      const std::uint32_t used = pages_of(greedy.page);
      for (std::uint32_t k = used; k <= kMostPages; ++k) {
        if (starts_[k].empty() || k == used) starts_[k] = greedy.page;
      }
      if (used > kMostPages) break;
    }
    fewest_ = 1;
    while (fewest_ <= kMostPages && starts_[fewest_].empty()) ++fewest_;
    for (std::uint32_t k = fewest_; k <= kMostPages; ++k) {
      search_.start(starts_[k], k);
      if (search_.current_sum() == search_.best_sum()) pack_current();
      if (packed_ <= bound_) break;
    }
  }

  bool finished() {
    if (packed_ <= bound_) return true;
    const std::uint64_t work = search_.work() + pack_work_;
    return work >= budget_.work || (budget_.out_of_time && budget_.out_of_time());
  }

  void pack_current() {
    PackedPages packed = pack_pages(problem_, search_.current(), budget_.pack_per_item, random_);
    pack_work_ += packed.work;
    const bool fits = std::all_of(packed.plan.extent.begin(), packed.plan.extent.end(),
                                  [&](Bytes extent) { return extent <= problem_.page_limit; });
    if (!fits) return;
    packed_ = std::min(packed_, packed.sum);
    keeper_.offer(std::move(packed.plan));
  }

  const PoolProblem& problem_;
  Keeper& keeper_;
  const Budget& budget_;
  Random& random_;
  Bytes bound_;
  AssignSearch search_;
  std::vector<Assignment> starts_;  ///< per number of pages; empty: none
  std::uint32_t fewest_ = 1;
  Bytes unit_ = 0;  ///< all sizes are multiples of it
  Bytes heat_ = 0;
  Bytes packed_ = kWholeSize;  ///< least sum of extents so far
  std::uint64_t pack_work_ = 0;
};

/// The search keeps lists per position, and the packer lists per item; memory has to stay linear.
bool affordable(const PoolProblem& problem, std::uint64_t base) {
  std::uint64_t cells = 0;
  for (const Item& item : problem.items) cells += item.end - item.start;
  return problem.items.size() >= 2 &&
         cells <= 32 * (problem.items.size() + problem.positions) + base;
}

}  // namespace

std::uint64_t good_work(const PoolProblem& problem) {
  // Neighbours per item: 2 to 3.5 in networks, training included; 3.6 and more in tangles, where
  // the search goes on improving for longer.
  const std::uint64_t items = problem.items.size();
  const std::uint64_t percent = items == 0 ? 0 : problem.conflicts.edges() * 100 / items;
  const std::uint64_t tangled = std::clamp<std::uint64_t>(percent, 350, 400) - 350;
  const std::uint64_t slope = items < 500 ? 5'000 : 2'600;
  return items * (20'000 + slope * tangled);
}

void improve(const PoolProblem& problem, Keeper& keeper, const Budget& budget, Random& random) {
  if (problem.conflicts
          .empty()) {  // nothing has to be apart: one page is best, if it may be so large
    const std::vector<std::uint32_t> page(problem.items.size(), 0);
    if (max_live(problem.items, problem.positions) > problem.page_limit) return;
    if (problem.items.size() > kMostOnOnePage) return;
    const std::uint64_t per_item = budget.work / std::max<std::size_t>(1, problem.items.size());
    PackedPages packed = pack_pages(problem, page, per_item, random);
    const bool fits = packed.sum <= problem.page_limit;
    if (fits) keeper.offer(std::move(packed.plan));
    if (fits) return;
  }
  if (!affordable(problem, 1'000'000)) return;
  Improver improver(problem, keeper, budget, random);
  improver.start_greedily();
  improver.run();
}

void improve_quickly(const PoolProblem& problem, Keeper& keeper, const Budget& budget,
                     Random& random) {
  if (!affordable(problem, 0)) return;
  Improver improver(problem, keeper, budget, random);
  improver.start_quickly();
  improver.run_quickly();
}

}  // namespace berth::plan::detail
