// SPDX-License-Identifier: Apache-2.0
//
// place() with its answer checked, for tests of the planner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "berth/plan/planner.hpp"

namespace berth::plan {

inline std::string messages_of(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += violation.message + "\n";
  return text;
}

/// The plan of a problem that has one; a failure of the test and an empty plan if place() finds
/// none or the checker refuses what it finds.
inline Plan expect_plan(const Problem& problem, const Options& options) {
  std::variant<Plan, NoPlan> answer = place(problem, options);
  if (const NoPlan* const none = std::get_if<NoPlan>(&answer)) {
    ADD_FAILURE() << "no plan: " << none->message;
    return {};
  }
  Plan plan = std::get<Plan>(std::move(answer));
  const std::vector<Violation> violations = check(problem, plan);
  EXPECT_TRUE(violations.empty()) << messages_of(violations);
  return plan;
}

inline Plan expect_plan(const Problem& problem, Effort effort) {
  Options options;
  options.effort = effort;
  return expect_plan(problem, options);
}

}  // namespace berth::plan
