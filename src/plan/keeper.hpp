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

  /// Returns: whether the plan is the new best one. Of two that cost the same, the one with fewer
  /// barriers is kept.
  bool offer(PoolPlan plan) {
    reuse_bins(problem_, plan);
    const Cost cost = cost_of(problem_, plan);
    std::uint32_t barriers = kNone;
    if (!plan_.page.empty() && !better(cost, cost_, problem_.few_pages)) {
      if (better(cost_, cost, problem_.few_pages)) return false;
      barriers = barriers_of(plan);
      if (barriers_ == kNone) barriers_ = barriers_of(plan_);
      if (barriers >= barriers_) return false;
    }
    plan_ = std::move(plan);
    cost_ = cost;
    barriers_ = barriers;
    return true;
  }
  [[nodiscard]] const PoolPlan& plan() const { return plan_; }
  [[nodiscard]] const Cost& cost() const { return cost_; }
  [[nodiscard]] PoolPlan take() && { return std::move(plan_); }

 private:
  [[nodiscard]] std::uint32_t barriers_of(const PoolPlan& plan) const {
    return pool_barriers(problem_, plan.page, 0, static_cast<std::uint32_t>(plan.extent.size()));
  }

  const PoolProblem& problem_;
  PoolPlan plan_;
  Cost cost_;
  std::uint32_t barriers_ = kNone;  ///< of plan_; kNone: not counted yet
};

}  // namespace berth::plan::detail
