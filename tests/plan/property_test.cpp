// SPDX-License-Identifier: Apache-2.0
//
// What holds for every window: there is a plan wherever there must be one, the checker agrees, more
// effort is never worse, and nothing depends on how versions are numbered.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "berth/plan/planner.hpp"
#include "brute_force.hpp"
#include "expect_plan.hpp"
#include "random_window.hpp"

namespace berth::plan {
namespace {

/// The same cases in every run, unless the caller asks for others.
const int kConfigured = setenv("RC_PARAMS", "seed=1 max_success=500", 0);

using table::Dice;
using table::Sizes;

/// A plan, or nothing if place() says why not; what is wrong with the plan fails the property.
std::optional<Plan> checked(const Problem& problem, Effort effort) {
  Options options;
  options.effort = effort;
  options.time = std::chrono::milliseconds(3);
  std::variant<Plan, NoPlan> answer = place(problem, options);
  if (const NoPlan* const none = std::get_if<NoPlan>(&answer)) {
    RC_ASSERT(!none->message.empty());
    return std::nullopt;
  }
  const std::vector<Violation> violations = check(problem, std::get<Plan>(answer));
  RC_ASSERT(messages_of(violations) == std::string());
  return std::get<Plan>(std::move(answer));
}

Effort any_effort(Dice& dice) {
  return dice.one_in(10) ? Effort::best : dice.one_in(2) ? Effort::good : Effort::fast;
}

/// Puts some versions on existing pages, with free ranges between them.
void add_pages(Problem& problem, Dice& dice) {
  const std::uint32_t pages = dice.below(4);
  std::vector<Bytes> end(pages, 0);
  for (std::uint32_t p = 0; p < pages; ++p) {
    problem.pages.emplace_back();
    problem.pages[p].idle = dice.one_in(3);
  }
  for (Version& version : problem.versions) {
    if (pages == 0 || version.bytes == 0 || !dice.one_in(4)) continue;
    const std::uint32_t p = dice.below(pages);
    Page& page = problem.pages[p];
    const Bytes start = align_up(end[p] + dice.below(3) * version.alignment, version.alignment);
    if (start > end[p]) page.free.push_back({end[p], start - end[p]});
    version.fixed = Place{PageId(p), start};
    version.incoming = version.incoming || dice.one_in(2);
    end[p] = start + version.bytes;
    page.idle = false;
  }
  for (std::uint32_t p = 0; p < pages; ++p) {
    const Bytes tail = dice.below(3) * Bytes{200};
    if (tail != 0) problem.pages[p].free.push_back({end[p], tail});
    problem.pages[p].bytes = end[p] + tail;
  }
}

/// True if two versions that are fixed on one page meet in a task that may not have both.
bool fixed_conflict(const Problem& problem) {
  for (std::size_t a = 0; a < problem.versions.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto& x = problem.versions[a].fixed;
      const auto& y = problem.versions[b].fixed;
      if (x && y && x->page == y->page && brute::conflict(problem, a, b)) return true;
    }
  }
  return false;
}

Problem any_window(Dice& dice, std::uint32_t most) {
  Problem problem = table::random_window(dice.below(1U << 30), most,
                                         dice.one_in(2) ? Sizes::whole : Sizes::ragged);
  const Bytes alignment = std::vector<Bytes>{4, 32, 256}[dice.below(3)];
  for (Version& version : problem.versions) {
    version.alignment = dice.one_in(2) ? alignment : std::vector<Bytes>{4, 32, 256}[dice.below(3)];
  }
  problem.device.exclusion = !dice.one_in(5);
  problem.device.page_granularity = dice.one_in(2) ? 1 : 64 * kKiB;
  problem.device.growth = static_cast<Growth>(dice.below(3));
  problem.goal.mode = dice.one_in(2) ? Mode::least_memory : Mode::most_overlap;
  problem.goal.order = static_cast<Order>(dice.below(3));
  problem.goal.extra_at_least = dice.one_in(2) ? 0 : 1000;
  return problem;
}

void limit_pages(Problem& problem, Dice& dice) {
  Bytes largest = 1;
  for (const Version& version : problem.versions) largest = std::max(largest, version.bytes);
  problem.device.max_page_bytes = largest + dice.below(2) * largest / 2;
}

RC_GTEST_PROP(PlannerProperty, PlacesEveryWindowWhoseVersionsFitAPage, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 40);
  if (dice.one_in(2)) limit_pages(problem, dice);
  RC_ASSERT(checked(problem, any_effort(dice)).has_value());
}

RC_GTEST_PROP(PlannerProperty, PlacesAroundFixedVersionsAndExistingPages, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 25);
  add_pages(problem, dice);
  if (dice.one_in(3)) limit_pages(problem, dice);
  const std::optional<Plan> plan = checked(problem, any_effort(dice));
  RC_ASSERT(plan.has_value() || fixed_conflict(problem));
}

RC_GTEST_PROP(PlannerProperty, NeverExceedsABudget, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 20);
  problem.device.page_granularity = 1;
  problem.goal.order = Order::program;
  const Bytes bound = lower_bound(problem, brute::program_order(problem));
  problem.device.budget = bound - bound / 8 + dice.below(4) * bound / 8;
  const std::optional<Plan> plan = checked(problem, any_effort(dice));
  if (problem.device.budget < bound) RC_ASSERT(!plan.has_value());
}

RC_GTEST_PROP(PlannerProperty, GoodIsNeverWorseThanFast, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 60);
  problem.goal.mode = Mode::least_memory;
  if (dice.one_in(2)) add_pages(problem, dice);
  const std::optional<Plan> fast = checked(problem, Effort::fast);
  const std::optional<Plan> good = checked(problem, Effort::good);
  RC_ASSERT(good.has_value() || !fast.has_value());
  if (!fast) return;
  RC_ASSERT(good->statistics.to_make <= fast->statistics.to_make);
  if (problem.pages.empty() && problem.device.page_granularity == 1) {
    RC_ASSERT(good->statistics.peak <= fast->statistics.peak);
  }
}

RC_GTEST_PROP(PlannerProperty, AddingATaskNeverBreaksIt, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 20);
  const auto versions = static_cast<std::uint32_t>(problem.versions.size());
  const Effort effort = dice.one_in(2) ? Effort::good : Effort::fast;
  for (int added = 0; added < 4; ++added) {
    table::Row row;
    const std::uint32_t written = dice.below(versions);
    const std::uint32_t read = dice.below(versions);
    (dice.one_in(2) ? row.writes : row.updates).push_back(written);
    if (read != written) row.reads.push_back(read);
    table::add_task(problem, row);
    RC_ASSERT(checked(problem, effort).has_value());
  }
}

/// The problem with versions renumbered: version v becomes number[v].
Problem renumbered(const Problem& problem, const std::vector<std::uint32_t>& number) {
  Problem result = problem;
  for (std::size_t v = 0; v < number.size(); ++v) {
    result.versions[number[v]] = problem.versions[v];
    result.versions[number[v]].tensor = TensorId(1000 - number[v]);
  }
  for (Use& use : result.uses) use.version = VersionId(number[use.version.index()]);
  return result;
}

RC_GTEST_PROP(PlannerProperty, TheAnswerDoesNotDependOnIds, (std::uint64_t seed)) {
  Dice dice(seed);
  Problem problem = any_window(dice, 40);
  if (dice.one_in(2)) add_pages(problem, dice);
  std::vector<std::uint32_t> number(problem.versions.size());
  std::iota(number.begin(), number.end(), 0U);
  for (std::uint32_t v = 1; v < number.size(); ++v) std::swap(number[v], number[dice.below(v + 1)]);
  const Effort effort = dice.one_in(2) ? Effort::good : Effort::fast;
  const std::optional<Plan> plan = checked(problem, effort);
  const std::optional<Plan> other = checked(renumbered(problem, number), effort);
  RC_ASSERT(plan.has_value() == other.has_value());
  if (!plan) return;
  RC_ASSERT(plan->statistics.peak == other->statistics.peak);
  RC_ASSERT(plan->statistics.barriers == other->statistics.barriers);
  for (std::size_t v = 0; v < number.size(); ++v) {
    RC_ASSERT(plan->places[v] == other->places[number[v]]);
  }
}

RC_GTEST_PROP(PlannerProperty, TheSameProblemGetsTheSameAnswer, (std::uint64_t seed)) {
  Dice dice(seed);
  const Problem problem = any_window(dice, 40);
  const Effort effort = dice.one_in(2) ? Effort::good : Effort::fast;
  const std::optional<Plan> first = checked(problem, effort);
  const std::optional<Plan> second = checked(problem, effort);
  RC_ASSERT(first.has_value() == second.has_value());
  if (first) RC_ASSERT(first->places == second->places);
}

RC_GTEST_PROP(PlannerProperty, TheCheckersFiguresAreThoseOfThePlainDefinitions,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const Problem problem = any_window(dice, 30);
  const std::optional<Plan> plan = checked(problem, Effort::fast);
  RC_ASSERT(plan.has_value());
  RC_ASSERT(lower_bound(problem, plan->order) == brute::max_live(problem, plan->order));
  RC_ASSERT(count_barriers(problem, *plan) == brute::barriers(problem, plan->order, plan->places));
  RC_ASSERT(plan->levels == brute::levels(problem));
  RC_ASSERT(plan->statistics.hazards == brute::direct_hazards(problem));
}

}  // namespace
}  // namespace berth::plan
