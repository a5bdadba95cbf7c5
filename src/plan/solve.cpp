// SPDX-License-Identifier: Apache-2.0
#include "plan/solve.hpp"

#include "plan/exact.hpp"
#include "plan/fast.hpp"
#include "plan/good.hpp"
#include "plan/keeper.hpp"

namespace berth::plan::detail {
namespace {

/// Searches with other seeds and larger budgets until the time is over.
void search_until(std::chrono::steady_clock::time_point deadline, const PoolProblem& problem,
                  Keeper& keeper, Random& random) {
  const auto over = [deadline] { return std::chrono::steady_clock::now() >= deadline; };
  const Bytes bound = align_up(max_live(problem.items, problem.positions), problem.granularity);
  std::uint64_t work = 4 * good_work(problem);
  while (!over() && keeper.cost().to_make > bound) {
    improve(problem, keeper, {work, 20'000, over}, random);
    work *= 2;
  }
}

PoolPlan solve_pool(const PoolProblem& problem, const Options& options,
                    std::chrono::steady_clock::time_point deadline) {
  Keeper keeper(problem);
  Random random(options.seed);
  solve_fast(problem, keeper, random);
  if (options.effort == Effort::fast) return std::move(keeper).take();
  if (solve_exactly(problem, keeper, 3'000'000)) return std::move(keeper).take();
  const Budget budget{good_work(problem), 4000, {}};
  improve(problem, keeper, budget, random);
  if (options.effort == Effort::best) search_until(deadline, problem, keeper, random);
  return std::move(keeper).take();
}

}  // namespace

std::vector<PoolPlan> solve(const Problem& /*problem*/, const Window& window,
                            const Options& options,
                            std::chrono::steady_clock::time_point deadline) {
  std::vector<PoolPlan> answers;
  answers.reserve(window.pools.size());
  for (std::size_t p = 0; p < window.pools.size(); ++p) {
    // The pools share what is left of the time.
    const auto now = std::chrono::steady_clock::now();
    const auto share = (deadline - now) / static_cast<int>(window.pools.size() - p);
    answers.push_back(solve_pool(window.pools[p], options, now + share));
  }
  return answers;
}

}  // namespace berth::plan::detail
