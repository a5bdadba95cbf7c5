// SPDX-License-Identifier: Apache-2.0
//
// Every window of up to 4 tasks and 4 tensors over all accesses is planned, checked, and compared
// with the exact optimum. What differs in nothing that a planner can see is made once: tensors are
// a multiset of columns (what each task does with the tensor: nothing, read, write), so their
// numbers do not matter. `write` and `read_write` demand the same of a tensor that is placed once;
// which of the two is used, and the sizes, follow from the window's number.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "berth/plan/planner.hpp"
#include "brute_force.hpp"
#include "expect_plan.hpp"

namespace berth::plan {
namespace {

constexpr std::uint32_t kMostTensors = 4;
constexpr std::uint32_t kAccesses = 3;  // digits of a column: nothing, read, write

std::uint32_t power(std::uint32_t base, std::uint32_t exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// The window whose tensors have these columns; digit t of a column in base 3 is what task t does.
Problem window_of(const std::vector<std::uint32_t>& columns, std::uint32_t tasks,
                  std::uint32_t number) {
  // Sizes whose sums are all different, in an order that changes from window to window.
  constexpr std::array<Bytes, kMostTensors> kSizes = {1, 2, 4, 9};
  Problem problem;
  for (std::uint32_t v = 0; v < columns.size(); ++v) {
    Version version;
    version.tensor = TensorId(v);
    version.bytes = kSizes[(v * (1 + number % 2 * 2) + number / 2) % kSizes.size()];
    problem.versions.push_back(version);
  }
  for (std::uint32_t t = 0; t < tasks; ++t) {
    Task task;
    task.first_use = static_cast<std::uint32_t>(problem.uses.size());
    for (std::uint32_t v = 0; v < columns.size(); ++v) {
      const std::uint32_t digit = columns[v] / power(kAccesses, t) % kAccesses;
      if (digit == 0) continue;
      const Access writing = (number + v + t) % 3 == 0 ? Access::read_write : Access::write;
      problem.uses.push_back(
          {VersionId(v), digit == 1 ? Access::read : writing, Range{0, problem.versions[v].bytes}});
    }
    task.use_count = static_cast<std::uint32_t>(problem.uses.size()) - task.first_use;
    problem.tasks.push_back(task);
  }
  return problem;
}

/// Calls `visit` with every multiset of `left` more columns from `first` on.
template <class Visit>
void each_multiset(std::vector<std::uint32_t>& columns, std::uint32_t left, std::uint32_t first,
                   std::uint32_t end, const Visit& visit) {
  if (left == 0) {
    visit(columns);
    return;
  }
  for (std::uint32_t column = first; column < end; ++column) {
    columns.push_back(column);
    each_multiset(columns, left - 1, column, end, visit);
    columns.pop_back();
  }
}

bool every_task_touches_something(const std::vector<std::uint32_t>& columns, std::uint32_t tasks) {
  for (std::uint32_t t = 0; t < tasks; ++t) {
    bool touched = false;
    for (const std::uint32_t column : columns) {
      touched = touched || column / power(kAccesses, t) % kAccesses != 0;
    }
    if (!touched) return false;
  }
  return true;
}

struct Tally {
  std::uint32_t windows = 0;
  std::uint32_t wrong = 0;
};

void judge(const Problem& problem, std::uint32_t number, Tally& tally) {
  constexpr std::uint32_t kMostReported = 10;
  Options options;
  options.effort = Effort::good;
  const auto answer = place(problem, options);
  const Plan* const plan = std::get_if<Plan>(&answer);
  const Bytes optimum = brute::optimum(problem, brute::program_order(problem));
  ++tally.windows;
  if (plan != nullptr && plan->statistics.peak == optimum && check(problem, *plan).empty()) return;
  if (++tally.wrong > kMostReported) return;
  ADD_FAILURE() << "window " << number << ": optimum " << optimum << ", planned "
                << (plan != nullptr ? plan->statistics.peak : 0) << "\n"
                << (plan != nullptr ? messages_of(check(problem, *plan)) : "no plan");
}

TEST(Exhaustive, EveryWindowOfUpToFourTasksAndTensorsIsPlannedAtTheOptimum) {
#ifdef NDEBUG
  constexpr std::uint32_t kStride = 1;
#else
  constexpr std::uint32_t kStride = 64;  // a sample where everything is slow: sanitizers, -O0
#endif
  Tally tally;
  std::uint32_t number = 0;
  for (std::uint32_t tasks = 1; tasks <= 4; ++tasks) {
    for (std::uint32_t tensors = 1; tensors <= kMostTensors; ++tensors) {
      std::vector<std::uint32_t> columns;
      each_multiset(columns, tensors, 1, power(kAccesses, tasks),
                    [&](const std::vector<std::uint32_t>& window) {
                      if (!every_task_touches_something(window, tasks)) return;
                      if (number++ % kStride != 0) return;
                      judge(window_of(window, tasks, number), number, tally);
                    });
    }
  }
  EXPECT_EQ(tally.wrong, 0U) << "of " << tally.windows << " windows";
  RecordProperty("windows", static_cast<int>(number));
  EXPECT_EQ(number, 1'849'236U);
}

}  // namespace
}  // namespace berth::plan
