// SPDX-License-Identifier: Apache-2.0
//
// The checker's rules about time alone: the order of the tasks, their levels, and which in-place
// pairs may be taken in that order. See check.hpp.
#include <algorithm>
#include <string>

#include "plan/check.hpp"

namespace berth::plan::checker {
namespace {

constexpr std::uint32_t kNoPair = 0xFFFFFFFF;

TaskId task_id(std::size_t task) { return TaskId(static_cast<std::uint32_t>(task)); }

void check_hazards(const Subject& subject, const Timeline& timeline, Findings& findings) {
  const auto& [problem, plan] = subject;
  HazardWalk walk(problem);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const std::uint32_t position = timeline.positions[t];
    const std::int64_t latest = walk.latest_before(t);
    if (latest > static_cast<std::int64_t>(position)) {
      const TaskId other = plan.order[static_cast<std::size_t>(latest)];
      findings.add(Rule::order, {.tasks = {other, task_id(t)}},
                   "" + task_text(t) + " runs at position " + std::to_string(position) +
                       ", before " + task_text(other.index()) + " at position " +
                       std::to_string(latest) +
                       ", though it needs or overwrites what that task leaves.");
    }
    walk.record(t, position);
  }
}

void check_levels(const Subject& subject, Findings& findings) {
  const auto& [problem, plan] = subject;
  if (plan.levels.size() != problem.tasks.size()) {
    findings.add(Rule::statistics, {},
                 "the plan gives " + std::to_string(plan.levels.size()) + " levels for " +
                     std::to_string(problem.tasks.size()) + " tasks.");
    return;
  }
  const std::vector<std::uint32_t> levels = data_levels(problem);
  for (std::size_t t = 0; t < levels.size(); ++t) {
    if (levels[t] == plan.levels[t]) continue;
    findings.add(Rule::statistics, {.tasks = {task_id(t)}},
                 "" + task_text(t) + " is on data level " + std::to_string(levels[t]) +
                     ", but the plan says " + std::to_string(plan.levels[t]) + ".");
  }
}

/// Why a taken pair is wrong, given all that was taken before it; empty if it is right.
std::string taken_fault(const Subject& subject, const Timeline& timeline,
                        const std::vector<bool>& inherits, const InPlacePair& pair) {
  const auto& [problem, plan] = subject;
  std::string fault = in_place_fault(problem, timeline.lives, timeline.positions, pair);
  if (!fault.empty()) return fault;
  const std::size_t input = pair.input.index();
  const std::size_t output = pair.output.index();
  if (timeline.heir_tick[input] != 0) return "its input was taken over by another output already";
  if (inherits[output]) return "its output took over another input already";
  if (!subject.placed(input) || !subject.placed(output)) return "one side has no place";
  const Place& from = plan.places[input];
  const Place& to = plan.places[output];
  if (from != to) {
    return "its input lies at offset " + std::to_string(from.offset) + " of page " +
           std::to_string(from.page.value) + " and its output at offset " +
           std::to_string(to.offset) + " of page " + std::to_string(to.page.value);
  }
  return {};
}

/// Code exists per choice of a task's pairs, so a choice is taken whole and alone.
void check_choices(const Subject& subject, Findings& findings) {
  const auto& [problem, plan] = subject;
  std::vector<bool> taken(problem.in_place.size(), false);
  std::vector<std::uint32_t> first(problem.tasks.size(),
                                   kNoPair);  // per task: its first taken pair
  for (const std::uint32_t index : plan.in_place) {
    if (index >= taken.size() || problem.in_place[index].task.index() >= first.size()) continue;
    taken[index] = true;
    std::uint32_t& known = first[problem.in_place[index].task.index()];
    if (known == kNoPair) known = index;
  }
  for (std::uint32_t index = 0; index < taken.size(); ++index) {
    const InPlacePair& pair = problem.in_place[index];
    if (pair.task.index() >= first.size()) continue;
    const std::uint32_t known = first[pair.task.index()];
    if (known == kNoPair) continue;
    const bool same = pair.choice == problem.in_place[known].choice;
    if (same == taken[index]) continue;
    findings.add(
        Rule::in_place, {.tasks = {pair.task}, .versions = {pair.input, pair.output}},
        "the plan takes pair " + std::to_string(known) + " of " + task_text(pair.task.index()) +
            " (choice " + std::to_string(problem.in_place[known].choice) + ") " +
            (same ? "without" : "together with") + " pair " + std::to_string(index) + " (choice " +
            std::to_string(pair.choice) + "), but one choice is taken whole and alone.");
  }
}

}  // namespace

Timeline check_order(const Subject& subject, Findings& findings) {
  const auto& [problem, plan] = subject;
  Timeline timeline;
  timeline.positions = positions_in(problem, plan.order);
  timeline.known = timeline.positions.size() == problem.tasks.size();
  timeline.handed_over.assign(problem.uses.size(), false);
  timeline.heir_tick.assign(problem.versions.size(), 0);
  check_levels(subject, findings);
  if (!timeline.known) {
    findings.add(Rule::order, {},
                 "the plan's order names " + std::to_string(plan.order.size()) +
                     " tasks and is no permutation of the " + std::to_string(problem.tasks.size()) +
                     " tasks of the problem.");
    return timeline;
  }
  timeline.lives = lives_in(problem, timeline.positions);
  check_hazards(subject, timeline, findings);
  return timeline;
}

void check_in_place(const Subject& subject, Timeline& timeline, Findings& findings) {
  const auto& [problem, plan] = subject;
  std::vector<bool> inherits(problem.versions.size(), false);
  if (!timeline.known) return;
  check_choices(subject, findings);
  for (const std::uint32_t index : plan.in_place) {
    if (index >= problem.in_place.size()) {
      findings.add(Rule::in_place, {},
                   "the plan takes pair " + std::to_string(index) + ", but the problem has only " +
                       std::to_string(problem.in_place.size()) + " pairs.");
      continue;
    }
    const InPlacePair& pair = problem.in_place[index];
    const std::string fault = taken_fault(subject, timeline, inherits, pair);
    if (!fault.empty()) {
      findings.add(Rule::in_place, {.tasks = {pair.task}, .versions = {pair.input, pair.output}},
                   "the plan takes pair " + std::to_string(index) + " (task " +
                       std::to_string(pair.task.value) + ", version " +
                       std::to_string(pair.input.value) + " into version " +
                       std::to_string(pair.output.value) + "), but " + fault + ".");
      continue;
    }
    timeline.heir_tick[pair.input.index()] = tick_of(timeline.positions[pair.task.index()]);
    inherits[pair.output.index()] = true;
    const Task& task = problem.tasks[pair.task.index()];
    for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
      if (problem.uses[u].version == pair.input) timeline.handed_over[u] = true;
    }
  }
}

}  // namespace berth::plan::checker
