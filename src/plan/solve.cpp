// SPDX-License-Identifier: Apache-2.0
#include "plan/solve.hpp"

#include "plan/good.hpp"
#include "plan/keeper.hpp"
#include "plan/stack.hpp"
#include "plan/sweep.hpp"

namespace berth::plan::detail {
namespace {

PoolPlan solve_pool(const PoolProblem& problem, const Options& options) {
  constexpr std::size_t kMostStacked = 1500;
  Keeper keeper(problem);
  keeper.offer(sweep(problem, Bins::ignore));
  if (!problem.bins.empty()) keeper.offer(sweep(problem, Bins::use));
  if (problem.items.size() <= kMostStacked) {
    const std::vector<std::uint32_t> order = by_size(problem);
    for (std::uint32_t wanted = 1; wanted <= 5; ++wanted) {
      keeper.offer(stack(problem, order, wanted, Bins::ignore));
      if (!problem.bins.empty()) keeper.offer(stack(problem, order, wanted, Bins::use));
    }
  }
  if (options.effort == Effort::fast) return std::move(keeper).take();
  Random random(options.seed);
  improve(problem, keeper, {good_work(problem), {}}, random);
  return std::move(keeper).take();
}

}  // namespace

std::vector<PoolPlan> solve(const Problem& /*problem*/, const Window& window,
                            const Options& options) {
  std::vector<PoolPlan> answers;
  answers.reserve(window.pools.size());
  for (const PoolProblem& pool : window.pools) answers.push_back(solve_pool(pool, options));
  return answers;
}

}  // namespace berth::plan::detail
