// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "plan/assign_search.hpp"
#include "plan/page_packing.hpp"

namespace berth::plan::detail {
namespace {

/// More pairs than this would cost too much memory; the barriers then stay as they are.
constexpr std::size_t kMostPairs = 4'000'000;

/// Per position: the stretch between two barriers if every item had a page of its own.
std::vector<std::uint32_t> demanded_stretches(const PoolProblem& problem) {
  std::vector<std::uint32_t> read(problem.items.size() + problem.bins.size(), 0);
  std::vector<std::uint32_t> written = read;
  std::vector<std::uint32_t> stretch_of(problem.positions);
  std::uint32_t stretch = 1;
  for (std::uint32_t p = 0; p < problem.positions; ++p) {
    const std::span<const Touch> touches(problem.touches.data() + problem.first_touch[p],
                                         problem.touches.data() + problem.first_touch[p + 1]);
    const bool barrier = std::any_of(touches.begin(), touches.end(), [&](const Touch& t) {
      return written[t.item] == stretch || (t.writes && read[t.item] == stretch);
    });
    if (barrier) ++stretch;
    for (const Touch& t : touches) (t.writes ? written : read)[t.item] = stretch;
    stretch_of[p] = stretch - 1;
  }
  return stretch_of;
}

SoftPairs soft_pairs(const PoolProblem& problem) {
  const std::vector<std::uint32_t> stretch_of = demanded_stretches(problem);
  const auto items = static_cast<std::uint32_t>(problem.items.size());
  SoftPairs soft;
  soft.first_pair.push_back(0);
  struct Seen {
    std::uint32_t item;
    std::uint32_t position;
    bool writes;
  };
  std::vector<Seen> seen;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t p = 0; p < problem.positions;) {
    const std::uint32_t stretch = stretch_of[p];
    seen.clear();
    pairs.clear();
    for (; p < problem.positions && stretch_of[p] == stretch; ++p) {
      const std::size_t before = seen.size();
      for (std::uint32_t k = problem.first_touch[p]; k < problem.first_touch[p + 1]; ++k) {
        const Touch& touch = problem.touches[k];
        if (touch.item >= items) continue;
        for (std::size_t b = 0; b < before; ++b) {
          if (seen[b].item == touch.item || (!seen[b].writes && !touch.writes)) continue;
          pairs.emplace_back(std::minmax(seen[b].item, touch.item));
        }
        seen.push_back({touch.item, p, touch.writes});
      }
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    soft.pairs.insert(soft.pairs.end(), pairs.begin(), pairs.end());
    soft.first_pair.push_back(static_cast<std::uint32_t>(soft.pairs.size()));
    if (soft.pairs.size() > kMostPairs) return {};
  }
  soft.first.assign(std::size_t{items} + 1, 0);
  for (const auto& [a, b] : soft.pairs) {
    ++soft.first[a + 1];
    ++soft.first[b + 1];
  }
  std::partial_sum(soft.first.begin(), soft.first.end(), soft.first.begin());
  std::vector<std::uint32_t> next(soft.first.begin(), soft.first.end() - 1);
  soft.ends.resize(2 * soft.pairs.size());
  for (std::uint32_t s = 0; s < soft.stretches(); ++s) {
    for (std::uint32_t k = soft.first_pair[s]; k < soft.first_pair[s + 1]; ++k) {
      const auto& [a, b] = soft.pairs[k];
      soft.ends[next[a]++] = {b, s};
      soft.ends[next[b]++] = {a, s};
    }
  }
  return soft;
}

class Spreader {
 public:
  Spreader(const PoolProblem& problem, const PoolPlan& least, Bytes most, const Budget& budget,
           Random& random)
      : problem_(problem),
        most_(most),
        budget_(budget),
        random_(random),
        best_(least),
        best_barriers_(barriers(least)),
        best_cost_(cost_of(problem, least)) {}

  PoolPlan run() {
    const std::vector<std::uint32_t> own = own_pages();
    const std::uint32_t demanded = pool_barriers(
        problem_, own, 0, static_cast<std::uint32_t>(problem_.bins.size() + problem_.items.size()));
    if (best_barriers_ <= demanded || problem_.items.size() < 2) return std::move(best_);
    soft_ = soft_pairs(problem_);
    if (soft_.pairs.empty()) return std::move(best_);
    Bytes total = 0;
    for (const Item& item : problem_.items) total += item.size;
    const Bytes mean = total / problem_.items.size();

    const auto existing = static_cast<std::uint32_t>(problem_.bins.size());
    std::vector<std::uint32_t> page = best_.page;
    for (std::uint32_t& p : page) {
      if (p < existing) return std::move(best_);  // what lies on existing pages stays there
      p -= existing;
    }
    compact(page);
    const std::uint32_t used = *std::max_element(page.begin(), page.end()) + 1;
    AssignSearch search(problem_, std::max(used + 2, kMostPages));
    std::uint32_t slack = 0;  // in 1/256 of the goal, for what packing loses
    constexpr std::uint32_t kPages[] = {8, 12, 6, 16, 10, 24};
    for (std::uint32_t round = 0; round < kMostRounds && !over(search); ++round) {
      if (best_barriers_ <= demanded) break;
      const std::uint32_t pages =
          std::clamp(kPages[round % 6], used + 1, std::max(used + 2, kMostPages));
      const bool again = round % 2 == 1 && !from_.empty() && highest(from_) < pages;
      idle_work_ += 200 + problem_.items.size();
      search.start(again ? from_ : page, pages);
      const Bytes goal = most_ - most_ / 256 * slack;
      const Bytes heat = mean * (3 + random_.below(8)) / 24;
      if (!search.spread(soft_, goal, budget_.work / 30, heat, random_)) continue;
      PackedPages packed = pack_pages(problem_, search.best_soft(), budget_.pack_per_item, random_);
      if (offer(std::move(packed.plan))) {
        from_ = search.best_soft();
        polish(search, pages, goal);
      } else if (packed.sum > most_) {
        slack = std::min(slack + 1, 16U);
      }
    }
    return std::move(best_);
  }

 private:
  static constexpr std::uint32_t kMostPages = 24;
  static constexpr std::uint32_t kMostRounds = 100'000;  // a round may find nothing to do

  void polish(AssignSearch& search, std::uint32_t pages, Bytes goal) {
    search.start(from_, pages);
    if (search.polish(goal, budget_.work / 30, random_) >= best_barriers_) return;
    PackedPages packed = pack_pages(problem_, search.best_soft(), budget_.pack_per_item, random_);
    if (offer(std::move(packed.plan))) from_ = search.best_soft();
  }

  static std::uint32_t highest(const std::vector<std::uint32_t>& page) {
    return *std::max_element(page.begin(), page.end());
  }

  static void compact(std::vector<std::uint32_t>& page) {
    std::vector<std::uint32_t> number(highest(page) + 1, kNone);
    std::uint32_t next = 0;
    for (std::uint32_t& p : page) {
      if (number[p] == kNone) number[p] = next++;
      p = number[p];
    }
  }

  [[nodiscard]] bool over(const AssignSearch& search) const {
    return budget_.out_of_time ? budget_.out_of_time() : search.work() + idle_work_ >= budget_.work;
  }

  [[nodiscard]] std::vector<std::uint32_t> own_pages() const {
    std::vector<std::uint32_t> own(problem_.items.size());
    std::iota(own.begin(), own.end(), static_cast<std::uint32_t>(problem_.bins.size()));
    return own;
  }

  [[nodiscard]] std::uint32_t barriers(const PoolPlan& plan) const {
    return pool_barriers(problem_, plan.page, 0, static_cast<std::uint32_t>(plan.extent.size()));
  }

  bool offer(PoolPlan plan) {
    for (std::size_t p = problem_.bins.size(); p < plan.extent.size(); ++p) {
      if (plan.extent[p] > problem_.page_limit) return false;
    }
    const Cost cost = cost_of(problem_, plan);
    if (cost.to_make > most_) return false;
    const std::uint32_t count = barriers(plan);
    if (std::tuple(count, cost.to_make, cost.new_pages) >=
        std::tuple(best_barriers_, best_cost_.to_make, best_cost_.new_pages)) {
      return false;
    }
    best_ = std::move(plan);
    best_barriers_ = count;
    best_cost_ = cost;
    return true;
  }

  const PoolProblem& problem_;
  Bytes most_;
  const Budget& budget_;
  Random& random_;
  PoolPlan best_;
  std::uint32_t best_barriers_;
  Cost best_cost_;
  SoftPairs soft_;
  std::uint64_t idle_work_ = 0;      ///< what rounds cost beside the search
  std::vector<std::uint32_t> from_;  ///< the best assignment so far
};

}  // namespace

PoolPlan spread_out(const PoolProblem& problem, const PoolPlan& least, Bytes most,
                    const Budget& budget, Random& random) {
  return Spreader(problem, least, most, budget, random).run();
}

}  // namespace berth::plan::detail
