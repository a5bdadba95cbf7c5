// SPDX-License-Identifier: Apache-2.0
#include "plan/solve.hpp"

#include "plan/reuse.hpp"
#include "plan/stack.hpp"
#include "plan/sweep.hpp"

namespace berth::plan::detail {
namespace {

/// Keeps the cheapest of the plans it is shown.
class Best {
 public:
  explicit Best(const PoolProblem& problem) : problem_(problem) {}

  void offer(PoolPlan plan) {
    reuse_bins(problem_, plan);
    const Cost cost = cost_of(problem_, plan);
    if (!plan_.page.empty() && !better(cost, cost_, problem_.few_pages)) return;
    plan_ = std::move(plan);
    cost_ = cost;
  }
  [[nodiscard]] PoolPlan take() && { return std::move(plan_); }

 private:
  const PoolProblem& problem_;
  PoolPlan plan_;
  Cost cost_;
};

PoolPlan solve_pool(const PoolProblem& problem) {
  constexpr std::size_t kMostStacked = 1500;
  Best best(problem);
  best.offer(sweep(problem, Bins::ignore));
  if (!problem.bins.empty()) best.offer(sweep(problem, Bins::use));
  if (problem.items.size() <= kMostStacked) {
    const std::vector<std::uint32_t> order = by_size(problem);
    for (std::uint32_t wanted = 1; wanted <= 5; ++wanted) {
      best.offer(stack(problem, order, wanted, Bins::ignore));
      if (!problem.bins.empty()) best.offer(stack(problem, order, wanted, Bins::use));
    }
  }
  return std::move(best).take();
}

}  // namespace

std::vector<PoolPlan> solve(const Problem& /*problem*/, const Window& window,
                            const Options& /*options*/) {
  std::vector<PoolPlan> answers;
  answers.reserve(window.pools.size());
  for (const PoolProblem& pool : window.pools) answers.push_back(solve_pool(pool));
  return answers;
}

}  // namespace berth::plan::detail
