// SPDX-License-Identifier: Apache-2.0
//
// Keeps the cheapest plan of a pool among those it is shown. Every placer's answer goes through
// here, so that existing pages are reused and plans are compared in one way only.
#pragma once

#include <utility>

#include "plan/pool_problem.hpp"
#include "plan/reuse.hpp"

namespace berth::plan::detail {

class Keeper {
 public:
  explicit Keeper(const PoolProblem& problem) : problem_(problem) {}

  /// Returns: whether the plan is the new best one.
  bool offer(PoolPlan plan) {
    reuse_bins(problem_, plan);
    const Cost cost = cost_of(problem_, plan);
    if (!plan_.page.empty() && !better(cost, cost_, problem_.few_pages)) return false;
    plan_ = std::move(plan);
    cost_ = cost;
    return true;
  }
  [[nodiscard]] const PoolPlan& plan() const { return plan_; }
  [[nodiscard]] const Cost& cost() const { return cost_; }
  [[nodiscard]] PoolPlan take() && { return std::move(plan_); }

 private:
  const PoolProblem& problem_;
  PoolPlan plan_;
  Cost cost_;
};

}  // namespace berth::plan::detail
