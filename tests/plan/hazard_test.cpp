// SPDX-License-Identifier: Apache-2.0
//
// Hazards and data levels, as tables of tasks.
#include "plan/hazard.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth::plan::detail {
namespace {

struct Touch {
  std::uint32_t version;
  Access access;
  Range range{0, 100};
};

Problem window(std::uint32_t versions, const std::vector<std::vector<Touch>>& tasks) {
  Problem problem;
  problem.versions.resize(versions);
  for (Version& version : problem.versions) version.bytes = 100;
  for (const auto& touches : tasks) {
    Task task;
    task.first_use = static_cast<std::uint32_t>(problem.uses.size());
    task.use_count = static_cast<std::uint32_t>(touches.size());
    for (const Touch& t : touches)
      problem.uses.push_back({VersionId{t.version}, t.access, t.range});
    problem.tasks.push_back(task);
  }
  return problem;
}

constexpr Access R = Access::read;
constexpr Access W = Access::write;
constexpr Access RW = Access::read_write;

std::vector<std::uint32_t> before(const Hazards& hazards, std::size_t task) {
  const auto list = hazards.before(task);
  return {list.begin(), list.end()};
}

TEST(Hazards, OrderReadsAfterTheirWriteAndWritesAfterTheReads) {
  const Hazards hazards(window(1, {{{0, W}}, {{0, R}}, {{0, R}}, {{0, RW}}, {{0, R}}}),
                        Aliases::ignore);
  EXPECT_EQ(before(hazards, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(before(hazards, 2), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(before(hazards, 3), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(before(hazards, 4), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(hazards.count(), 6U);
}

TEST(Hazards, LeaveDisjointRangesOfAVersionAlone) {
  const Hazards hazards(
      window(1, {{{0, W, {0, 50}}}, {{0, W, {50, 50}}}, {{0, R, {0, 50}}}, {{0, R, {25, 50}}}}),
      Aliases::ignore);
  EXPECT_EQ(before(hazards, 1), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(before(hazards, 2), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(before(hazards, 3), (std::vector<std::uint32_t>{0, 1}));
}

TEST(Hazards, TieVersionsFixedOnTheSameBytesOnlyIfAsked) {
  Problem problem = window(2, {{{0, R}}, {{1, W}}});
  problem.pages.resize(1);
  problem.pages[0].bytes = 100;
  for (Version& version : problem.versions) version.fixed = Place{PageId{0}, 0};
  EXPECT_TRUE(has_aliases(problem));
  EXPECT_EQ(Hazards(problem, Aliases::ignore).count(), 0U);
  EXPECT_EQ(Hazards(problem, Aliases::respect).count(), 1U);
}

TEST(Levels, AreOneMoreThanTheHighestHazard) {
  //  0 writes a -> 1 reads a, writes b ------> 3 reads b and c
  //  2 writes c ----------------------------^
  const Hazards hazards(window(4, {{{0, W}}, {{0, R}, {1, W}}, {{2, W}}, {{1, R}, {2, R}, {3, W}}}),
                        Aliases::ignore);
  const std::vector<std::uint32_t> levels = data_levels(hazards);
  EXPECT_EQ(levels, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  const std::vector<TaskId> order = level_order(levels);
  EXPECT_EQ(order, (std::vector<TaskId>{TaskId{0}, TaskId{2}, TaskId{1}, TaskId{3}}));
}

}  // namespace
}  // namespace berth::plan::detail
