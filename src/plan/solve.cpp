// SPDX-License-Identifier: Apache-2.0
#include "plan/solve.hpp"

#include "plan/exact.hpp"
#include "plan/fast.hpp"
#include "plan/good.hpp"
#include "plan/keeper.hpp"
#include "plan/overlap.hpp"

namespace berth::plan::detail {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Searches with other seeds and larger budgets until the time is over.
void search_until(Deadline deadline, const PoolProblem& problem, Keeper& keeper, Random& random) {
  const auto over = [deadline] { return Clock::now() >= deadline; };
  const Bytes bound = align_up(max_live(problem.items, problem.positions), problem.granularity);
  std::uint64_t work = 4 * good_work(problem);
  while (!over() && keeper.cost().to_make > bound) {
    improve(problem, keeper, {work, 20'000, over}, random);
    work *= 2;
  }
}

PoolPlan least_memory(const PoolProblem& problem, const Options& options, Deadline deadline) {
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

/// Work for most_overlap.
Budget overlap_budget(const PoolProblem& problem, Effort effort, Deadline deadline) {
  const std::uint64_t items = problem.items.size();
  switch (effort) {
    case Effort::fast:
      return {600 * items + 10'000, 100, {}};
    case Effort::good:
      return {40'000 * items, 4000, {}};
    case Effort::best:
      break;
  }
  return {200'000 * items, 4000, [deadline] { return Clock::now() >= deadline; }};
}

PoolPlan solve_pool(const Problem& problem, const PoolProblem& pool, const Options& options,
                    Deadline deadline) {
  if (problem.goal.mode == Mode::least_memory) return least_memory(pool, options, deadline);
  const auto now = Clock::now();
  PoolPlan least = least_memory(pool, options, now + (deadline - now) / 4);
  const Bytes bytes = cost_of(pool, least).to_make;
  const auto share = static_cast<Bytes>(static_cast<double>(bytes) * problem.goal.extra_share);
  const Bytes most =
      std::min(bytes + std::max(share, std::min(problem.goal.extra_at_least, kMostPageBytes)),
               problem.device.budget);
  Random random(options.seed);
  const Budget budget = overlap_budget(pool, options.effort, deadline);
  return spread_out(pool, least, std::max(most, bytes), budget, random);
}

}  // namespace

std::vector<PoolPlan> solve(const Problem& problem, const Window& window, const Options& options,
                            std::chrono::steady_clock::time_point deadline) {
  std::vector<PoolPlan> answers;
  answers.reserve(window.pools.size());
  for (std::size_t p = 0; p < window.pools.size(); ++p) {
    // The pools share what is left of the time.
    const auto now = Clock::now();
    const auto share = (deadline - now) / static_cast<int>(window.pools.size() - p);
    answers.push_back(solve_pool(problem, window.pools[p], options, now + share));
  }
  return answers;
}

}  // namespace berth::plan::detail
