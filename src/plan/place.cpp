// SPDX-License-Identifier: Apache-2.0
//
// place(): the thin entry. Tries the orders that the goal allows, solves each pool, keeps the
// better plan, and fills in what was measured. The work is done in window, solve and their friends.
#include <optional>
#include <utility>

#include "berth/plan/planner.hpp"
#include "plan/barriers.hpp"
#include "plan/hazard.hpp"
#include "plan/solve.hpp"
#include "plan/window.hpp"

namespace berth::plan {
namespace {

using detail::InPlace;
using detail::kNone;

/// The most bytes live at once; only in-place pairs make it more than a sum over lives.
Bytes bound_of(const Problem& problem, const detail::Window& window) {
  if (!problem.in_place.empty()) return lower_bound(problem, window.order);
  std::vector<Bytes> change(window.order.size() + 1, 0);
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Bytes size = align_up(problem.versions[v].bytes, problem.versions[v].alignment);
    if (window.lives[v].end == 0) continue;
    change[window.lives[v].start] += size;
    change[window.lives[v].end] -= size;
  }
  Bytes live = 0;
  Bytes most = 0;
  for (const Bytes c : change) most = std::max(most, live += c);
  return most;
}

void measure(const Problem& problem, const detail::Window& window, Plan& plan) {
  Statistics& s = plan.statistics;
  s.lower_bound = bound_of(problem, window);
  s.in_place = static_cast<std::uint32_t>(plan.in_place.size());
  const Bytes granularity = problem.device.page_granularity;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    if (!page.used) continue;
    s.peak += page.bytes;
    ++s.pages;
    const Bytes rounded = align_up(page.bytes, granularity);
    if (p >= problem.pages.size()) {
      s.to_make += rounded;
    } else if (page.bytes > problem.pages[p].bytes) {
      s.to_make += rounded - problem.pages[p].bytes;
    }
  }
  std::vector<std::uint32_t> page_of(problem.versions.size(), kNone);
  for (std::size_t v = 0; v < page_of.size(); ++v) {
    if (plan.places[v].page.valid()) page_of[v] = plan.places[v].page.value;
  }
  s.barriers = detail::barriers_on(problem, plan.order, page_of, plan.pages.size());
  s.barriers_demanded = detail::barriers_demanded(problem, plan.order);
}

/// What the device then holds: every used page, and those that are not idle.
Bytes held_bytes(const Problem& problem, const Plan& plan) {
  Bytes held = 0;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    const Bytes rounded = align_up(page.bytes, problem.device.page_granularity);
    if (p >= problem.pages.size()) {
      held += page.used ? rounded : 0;
    } else if (page.used || !problem.pages[p].idle) {
      const Bytes bytes = problem.pages[p].bytes;
      held += page.bytes > bytes ? rounded : bytes;
    }
  }
  return held;
}

NoPlan too_large(const Problem& problem, std::size_t v) {
  const Bytes bytes = problem.versions[v].bytes;
  const Bytes limit = problem.device.max_page_bytes;
  return {NoPlan::Reason::never_fits, bytes, limit,
          "Version " + std::to_string(v) + " needs " + std::to_string(bytes) +
              " bytes, but a page holds at most " + std::to_string(limit) + "."};
}

using Deadline = std::chrono::steady_clock::time_point;

/// A plan of one order, or why there is none.
struct Attempt {
  std::optional<Plan> plan;
  NoPlan reason;
  Bytes held = 0;
};

bool better(const Problem& problem, const Attempt& a, const Attempt& b) {
  if (!a.plan || !b.plan) return a.plan.has_value();
  const Statistics& x = a.plan->statistics;
  const Statistics& y = b.plan->statistics;
  if (problem.goal.mode == Mode::most_overlap && x.barriers != y.barriers) {
    return x.barriers < y.barriers;
  }
  return std::tuple(x.to_make, a.held, x.barriers) < std::tuple(y.to_make, b.held, y.barriers);
}

Attempt attempt(const Problem& problem, const Options& options, const std::vector<TaskId>& order,
                InPlace in_place, Deadline deadline) {
  const detail::Window window = detail::make_window(problem, order, in_place);
  Attempt result;
  if (window.unsolvable) {
    result.reason = {NoPlan::Reason::never_fits, 0, 0, *window.unsolvable};
    return result;
  }
  Plan plan = detail::make_plan(problem, window, detail::solve(problem, window, options, deadline));
  measure(problem, window, plan);
  result.held = held_bytes(problem, plan);
  if (result.held > problem.device.budget) {
    const Bytes bound = plan.statistics.lower_bound;
    const bool proven = bound > problem.device.budget;
    result.reason = {proven ? NoPlan::Reason::never_fits : NoPlan::Reason::not_found,
                     proven ? bound : result.held, problem.device.budget,
                     "The window needs " + std::to_string(proven ? bound : result.held) +
                         (proven ? " bytes at one time" : " bytes of pages with this effort") +
                         ", but the budget is " + std::to_string(problem.device.budget) + "."};
    return result;
  }
  result.plan = std::move(plan);
  return result;
}

}  // namespace

std::variant<Plan, NoPlan> place(const Problem& problem, const Options& options) {
  validate(problem);
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Version& version = problem.versions[v];
    if (!version.fixed && version.bytes > problem.device.max_page_bytes) {
      return too_large(problem, v);
    }
  }
  const detail::Hazards hazards(problem, detail::Aliases::ignore);
  std::vector<std::uint32_t> levels = detail::data_levels(hazards);

  std::vector<std::vector<TaskId>> orders;
  if (problem.goal.order != Order::level) {
    orders.push_back(detail::program_order(problem.tasks.size()));
  }
  if (problem.goal.order != Order::program) {
    const bool aliases = detail::has_aliases(problem);
    orders.push_back(detail::level_order(
        aliases ? detail::data_levels(detail::Hazards(problem, detail::Aliases::respect))
                : levels));
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto many = static_cast<int>(orders.size());
  Attempt best;
  for (int k = 0; k < many; ++k) {
    const std::vector<TaskId>& order = orders[static_cast<std::size_t>(k)];
    const Deadline half = begin + options.time * (2 * k + 1) / (2 * many);
    const Deadline end = begin + options.time * (k + 1) / many;
    const bool choice = !problem.in_place.empty() && options.effort != Effort::fast;
    Attempt next = attempt(problem, options, order, InPlace::take, choice ? half : end);
    if (choice || (!next.plan && !problem.in_place.empty())) {
      Attempt other = attempt(problem, options, order, InPlace::leave, end);
      if (better(problem, other, next)) next = std::move(other);
    }
    if (k == 0 || better(problem, next, best)) best = std::move(next);
  }
  if (!best.plan) return std::move(best.reason);
  Statistics& s = best.plan->statistics;
  s.hazards = static_cast<std::uint32_t>(hazards.count());
  for (const std::uint32_t level : levels) s.levels = std::max(s.levels, level + 1);
  best.plan->levels = std::move(levels);
  return *std::move(best.plan);
}

}  // namespace berth::plan
