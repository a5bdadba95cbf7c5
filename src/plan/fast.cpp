// SPDX-License-Identifier: Apache-2.0
#include "plan/fast.hpp"

#include <algorithm>

#include "plan/exact.hpp"
#include "plan/good.hpp"
#include "plan/stack.hpp"
#include "plan/sweep.hpp"

namespace berth::plan::detail {
namespace {

class Fast {
 public:
  Fast(const PoolProblem& problem, Keeper& keeper, Random& random)
      : problem_(problem),
        keeper_(keeper),
        random_(random),
        bound_(align_up(max_live(problem.items, problem.positions), problem.granularity)) {}

  void run() {
    if (!problem_.bins.empty()) keeper_.offer(sweep(problem_, Bins::use));
    // A large window gets its first plan from the search, if the search can take it.
    constexpr std::size_t kLarge = 300;
    if (problem_.items.size() > kLarge) search();
    if (problem_.items.size() <= kLarge || keeper_.plan().page.empty()) {
      keeper_.offer(sweep(problem_, Bins::ignore));
    }
    if (!done()) stacks();
    if (!done()) exact();
    if (!done() && problem_.items.size() <= kLarge) search();
  }

 private:
  [[nodiscard]] bool done() const {
    return keeper_.cost().to_make <= bound_ && problem_.bins.empty();
  }

  /// Quadratic, so the larger the window the fewer.
  void stacks() {
    const std::size_t runs = std::min<std::size_t>(5, 400 / problem_.items.size());
    if (runs == 0) return;
    const std::vector<std::uint32_t> order = by_size(problem_);
    constexpr std::uint32_t kWanted[] = {3, 4, 2, 5, 1};
    for (std::size_t r = 0; r < runs && !done(); ++r) {
      keeper_.offer(stack(problem_, order, kWanted[r], Bins::ignore));
      if (!problem_.bins.empty()) keeper_.offer(stack(problem_, order, kWanted[r], Bins::use));
    }
  }

  void exact() {
    const std::size_t items = problem_.items.size();
    if (items > kMostExact) return;
    proven_ = solve_exactly(problem_, keeper_, items <= 8 ? 50'000 : 4'000);
  }

  void search() {
    if (proven_ || problem_.conflicts.empty()) return;
    const std::uint64_t items = problem_.items.size();
    const Budget budget{(items > 500 ? 250U : 500U) * items + 10'000, 100, {}};
    improve_quickly(problem_, keeper_, budget, random_);
  }

  const PoolProblem& problem_;
  Keeper& keeper_;
  Random& random_;
  Bytes bound_;
  bool proven_ = false;
};

}  // namespace

void solve_fast(const PoolProblem& problem, Keeper& keeper, Random& random) {
  Fast(problem, keeper, random).run();
}

}  // namespace berth::plan::detail
