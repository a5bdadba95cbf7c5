// SPDX-License-Identifier: Apache-2.0
//
// The bound from below and the barriers of a plan: lower_bound() and count_barriers() of
// berth/plan/planner.hpp. Part of the checker: shares no code with the placer. Any thread.
#include <algorithm>
#include <span>
#include <tuple>

#include "berth/error.hpp"
#include "berth/plan/planner.hpp"
#include "plan/check_view.hpp"

namespace berth::plan {
namespace checker {
namespace {

Bytes aligned_bytes(const Version& version) { return align_up(version.bytes, version.alignment); }

/// The most bytes that one choice of a task's pairs can save; `pairs` are sorted by choice. A
/// choice saves nothing if one of its pairs may not be taken.
Bytes best_choice(const Problem& problem, const std::vector<Life>& lives,
                  const std::vector<std::uint32_t>& positions,
                  std::span<const InPlacePair* const> pairs) {
  Bytes best = 0;
  for (std::size_t i = 0; i < pairs.size();) {
    const std::uint32_t choice = pairs[i]->choice;
    bool allowed = true;
    Bytes saved = 0;
    for (; i < pairs.size() && pairs[i]->choice == choice; ++i) {
      allowed = allowed && in_place_fault(problem, lives, positions, *pairs[i]).empty();
      if (!allowed) continue;
      saved += std::min(aligned_bytes(problem.versions[pairs[i]->input.index()]),
                        aligned_bytes(problem.versions[pairs[i]->output.index()]));
    }
    if (allowed) best = std::max(best, saved);
  }
  return best;
}

/// Bytes that in-place pairs can save at each tick: a taken pair holds its bytes once.
std::vector<Bytes> savings(const Problem& problem, const std::vector<Life>& lives,
                           const std::vector<std::uint32_t>& positions) {
  std::vector<const InPlacePair*> pairs;
  for (const InPlacePair& pair : problem.in_place) {
    if (pair.task.index() < problem.tasks.size()) pairs.push_back(&pair);
  }
  std::ranges::sort(pairs, [](const InPlacePair* a, const InPlacePair* b) {
    return std::tie(a->task, a->choice) < std::tie(b->task, b->choice);
  });
  std::vector<Bytes> saved(problem.tasks.size() + 2, 0);
  for (std::size_t i = 0; i < pairs.size();) {
    const TaskId task = pairs[i]->task;
    const std::size_t first = i;
    while (i < pairs.size() && pairs[i]->task == task) ++i;
    saved[tick_of(positions[task.index()])] =
        best_choice(problem, lives, positions, std::span(pairs).subspan(first, i - first));
  }
  return saved;
}

}  // namespace

std::string in_place_fault(const Problem& problem, const std::vector<Life>& lives,
                           const std::vector<std::uint32_t>& positions, const InPlacePair& pair) {
  if (pair.task.index() >= problem.tasks.size() || pair.input == pair.output ||
      pair.input.index() >= problem.versions.size() ||
      pair.output.index() >= problem.versions.size()) {
    return "it names a task or version that does not exist";
  }
  const Version& input = problem.versions[pair.input.index()];
  const Version& output = problem.versions[pair.output.index()];
  if (input.bytes != output.bytes) {
    return "its input has " + std::to_string(input.bytes) + " bytes and its output " +
           std::to_string(output.bytes);
  }
  std::size_t reading = 0;
  std::size_t writing = 0;
  for (const Use& use : uses_of(problem, pair.task.index())) {
    if (use.version == pair.input) {
      if (use.access != Access::read) return "its task does not only read the input";
      ++reading;
    }
    if (use.version == pair.output) {
      if (!writes(use.access)) return "its task does not write the output";
      ++writing;
    }
  }
  if (reading != 1 || writing != 1) {
    return "its task binds the input " + std::to_string(reading) + " times and the output " +
           std::to_string(writing) + " times, and in place both must be bound once";
  }
  const std::uint32_t tick = tick_of(positions[pair.task.index()]);
  if (lives[pair.input.index()].end != tick + 1) return "its input is still needed afterwards";
  if (lives[pair.output.index()].begin != tick) return "its output has contents before the task";
  return {};
}

std::uint32_t barriers_of(const Problem& problem, const std::vector<TaskId>& order,
                          const std::vector<std::uint32_t>& page_of) {
  std::uint32_t pages = 0;
  for (const std::uint32_t page : page_of) {
    if (page != PageId::kNone) pages = std::max(pages, page + 1);
  }
  // A page is dirty if the number here is that of the current stretch between two barriers.
  std::vector<std::uint32_t> written(pages, 0);
  std::vector<std::uint32_t> read(pages, 0);
  std::uint32_t stretch = 1;
  const auto each_use = [&](TaskId task, auto&& visit) {
    const bool promoted = problem.tasks[task.index()].promoted;
    for (const Use& use : uses_of(problem, task.index())) {
      const std::uint32_t page = page_of[use.version.index()];
      if (page == PageId::kNone || use.range.empty()) continue;
      visit(page, (promoted && !use.argument) || writes(use.access));
    }
  };
  for (const TaskId task : order) {
    bool barrier = false;
    each_use(task, [&](std::uint32_t page, bool writing) {
      barrier = barrier || written[page] == stretch || (writing && read[page] == stretch);
    });
    if (barrier) ++stretch;
    each_use(task,
             [&](std::uint32_t page, bool writing) { (writing ? written : read)[page] = stretch; });
  }
  return stretch - 1;
}

}  // namespace checker

Bytes lower_bound(const Problem& problem, const std::vector<TaskId>& order) {
  checker::require_indices(problem);
  const std::vector<std::uint32_t> positions = checker::positions_in(problem, order);
  if (positions.size() != problem.tasks.size()) {
    throw Error(ErrorCode::invalid_argument, "The order names " + std::to_string(order.size()) +
                                                 " tasks and is no permutation of the problem's " +
                                                 std::to_string(problem.tasks.size()) +
                                                 " tasks, while bounding a plan.");
  }
  const std::vector<checker::Life> lives = checker::lives_in(problem, positions);
  const std::vector<Bytes> saved = checker::savings(problem, lives, positions);
  std::vector<Bytes> born(problem.tasks.size() + 3, 0);
  std::vector<Bytes> died(problem.tasks.size() + 3, 0);
  for (std::size_t v = 0; v < lives.size(); ++v) {
    if (lives[v].empty()) continue;
    born[lives[v].begin] += checker::aligned_bytes(problem.versions[v]);
    died[lives[v].end] += checker::aligned_bytes(problem.versions[v]);
  }
  Bytes live = 0;
  Bytes most = 0;
  for (std::size_t tick = 0; tick < saved.size(); ++tick) {
    live = live + born[tick] - died[tick];
    most = std::max(most, live - std::min(live, saved[tick]));
  }
  return most;
}

std::uint32_t count_barriers(const Problem& problem, const Plan& plan) {
  checker::require_indices(problem);
  std::vector<std::uint32_t> page_of(problem.versions.size(), PageId::kNone);
  for (std::size_t v = 0; v < std::min(page_of.size(), plan.places.size()); ++v) {
    const PageId page = plan.places[v].page;
    if (page.index() < plan.pages.size() && problem.versions[v].bytes != 0) page_of[v] = page.value;
  }
  if (checker::positions_in(problem, plan.order).size() != problem.tasks.size()) {
    throw Error(ErrorCode::invalid_argument,
                "The plan's order is no permutation of the problem's " +
                    std::to_string(problem.tasks.size()) + " tasks, while counting barriers.");
  }
  return checker::barriers_of(problem, plan.order, page_of);
}

}  // namespace berth::plan
