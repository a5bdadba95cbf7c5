// SPDX-License-Identifier: Apache-2.0
//
// Repairs: the cheapest one that is allowed, and a problem that place() then solves.
#include "berth/plan/repair.hpp"

#include <gtest/gtest.h>

#include "berth/error.hpp"
#include "berth/plan/planner.hpp"

namespace berth::plan {
namespace {

/// Page 0 holds version 0 (100 bytes) and version 1 (300 bytes); task 0 reads 0 and writes 1.
Problem fixed_pair() {
  Problem problem;
  problem.pages.resize(1);
  problem.pages[0].bytes = 400;
  problem.versions.resize(2);
  problem.versions[0].bytes = 100;
  problem.versions[0].fixed = Place{PageId{0}, 0};
  problem.versions[1].bytes = 300;
  problem.versions[1].fixed = Place{PageId{0}, 100};
  for (Version& version : problem.versions) version.incoming = version.outlives = true;
  problem.uses = {{VersionId{0}, Access::read, {0, 100}},
                  {VersionId{1}, Access::read_write, {0, 300}}};
  problem.tasks.resize(1);
  problem.tasks[0].use_count = 2;
  return problem;
}

void expect_solved(const Repaired& repaired) {
  const auto answer = place(repaired.problem);
  ASSERT_TRUE(std::holds_alternative<Plan>(answer)) << std::get<NoPlan>(answer).message;
  const auto violations = check(repaired.problem, std::get<Plan>(answer));
  EXPECT_TRUE(violations.empty()) << violations.front().message;
}

TEST(Repair, LeavesAProblemWithoutConflictsAsItIs) {
  Problem problem = fixed_pair();
  problem.uses[1].access = Access::read;
  const Repaired repaired = repair(problem);
  EXPECT_TRUE(repaired.repairs.empty());
  EXPECT_EQ(repaired.problem.tasks.size(), 1U);
}

TEST(Repair, RelocatesTheSmallerMovableVersion) {
  Problem problem = fixed_pair();
  for (Version& version : problem.versions) version.movable = true;
  const Repaired repaired = repair(problem);
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].kind, RepairKind::relocate);
  EXPECT_EQ(repaired.repairs[0].from, VersionId{0});
  EXPECT_EQ(repaired.repairs[0].bytes, 100U);
  EXPECT_EQ(repaired.original, (std::vector<TaskId>{TaskId{}, TaskId{0}}));
  expect_solved(repaired);
}

TEST(Repair, NeverMovesAVersionThatMayNotMove) {
  Problem problem = fixed_pair();
  problem.versions[1].movable = true;
  const Repaired repaired = repair(problem);
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].from, VersionId{1});
  expect_solved(repaired);
}

TEST(Repair, RenamesAVersionThatHasNoContentsYet) {
  Problem problem = fixed_pair();
  problem.versions[1].movable = true;
  problem.versions[1].incoming = false;
  problem.uses[1].access = Access::write;
  const Repaired repaired = repair(problem);
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].kind, RepairKind::rename);
  EXPECT_EQ(repaired.problem.tasks.size(), 1U);
  expect_solved(repaired);
}

TEST(Repair, BouncesTheCheaperSideWhereNothingMayMove) {
  const Repaired repaired = repair(fixed_pair());
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].kind, RepairKind::bounce);
  EXPECT_EQ(repaired.repairs[0].bytes, 100U);
  EXPECT_EQ(repaired.problem.tasks.size(), 2U);
  expect_solved(repaired);
}

TEST(Repair, PromotesATaskWhoseVariantExists) {
  RepairOptions options;
  options.promotable = {1};
  const Repaired repaired = repair(fixed_pair(), options);
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].kind, RepairKind::promote);
  EXPECT_TRUE(repaired.problem.tasks[0].promoted);
  expect_solved(repaired);
}

TEST(Repair, SaysWhatItCannotSolve) {
  RepairOptions options;
  options.max_copy_bytes = 10;
  EXPECT_THROW((void)repair(fixed_pair(), options), Unsupported);
}

}  // namespace
}  // namespace berth::plan
