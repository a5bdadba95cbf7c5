// SPDX-License-Identifier: Apache-2.0
//
// The checker is itself checked: right plans pass, and every rule rejects a plan made to break it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/error.hpp"
#include "berth/plan/planner.hpp"
#include "brute_force.hpp"
#include "window_table.hpp"

namespace berth::plan {
namespace {

using brute::plan_at;
using brute::program_order;
using table::places;
using table::window;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Rule = Violation::Rule;

std::vector<Rule> rules_of(const std::vector<Violation>& violations) {
  std::vector<Rule> rules;
  rules.reserve(violations.size());
  for (const Violation& violation : violations) rules.push_back(violation.rule);
  return rules;
}

std::string messages_of(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += violation.message + "\n";
  return text;
}

Plan in_program_order(const Problem& problem, std::vector<Place> at) {
  return plan_at(problem, std::move(at), program_order(problem));
}

/// v0 -> v1 -> v2 -> v3, each task reads one and writes the next. The optimum takes three pages:
///   page 0   v0 v0 .  v3       page 1   .  v1 v1 .       page 2   .  .  v2 v2
Problem chain() {
  return window({10, 1, 1, 10}, {{.writes = {0}},
                                 {.reads = {0}, .writes = {1}},
                                 {.reads = {1}, .writes = {2}},
                                 {.reads = {2}, .writes = {3}}});
}
std::vector<Place> chain_places() { return places({{0, 0}, {1, 0}, {2, 0}, {0, 0}}); }

TEST(Check, AcceptsTheOptimumOfAChain) {
  const Plan plan = in_program_order(chain(), chain_places());
  EXPECT_EQ(plan.statistics.peak, 12U);
  EXPECT_EQ(plan.statistics.lower_bound, 11U);
  EXPECT_THAT(check(chain(), plan), IsEmpty()) << messages_of(check(chain(), plan));
}

TEST(Check, AcceptsAnEmptyWindow) {
  EXPECT_THAT(check(Problem{}, in_program_order(Problem{}, {})), IsEmpty());
}

TEST(Check, AcceptsTwoReadsOfOnePageAndTwoWritesOfAnother) {
  const Problem problem = window(
      {4, 4, 4, 4}, {{.writes = {0, 1}}, {.reads = {0, 1}, .writes = {2, 3}}, {.reads = {2, 3}}});
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 4}, {1, 0}, {1, 4}}));
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
}

TEST(Check, AcceptsEverythingOnOnePageWithoutExclusion) {
  Problem problem = chain();
  problem.device.exclusion = false;
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 10}, {0, 0}, {0, 1}}));
  EXPECT_EQ(plan.statistics.peak, 11U);
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
}

TEST(Check, AcceptsAnotherOrderWithinTheHazards) {
  const Problem problem =
      window({4, 8}, {{.writes = {0}}, {.reads = {0}}, {.writes = {1}}, {.reads = {1}}});
  const Plan plan =
      plan_at(problem, places({{0, 0}, {0, 4}}), {TaskId(2), TaskId(0), TaskId(3), TaskId(1)});
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
}

TEST(Check, MissesAPlace) {
  std::vector<Place> at = chain_places();
  at[2].page = PageId{};
  const auto found = check(chain(), in_program_order(chain(), at));
  ASSERT_THAT(rules_of(found), Contains(Rule::missing));
  EXPECT_THAT(messages_of(found), HasSubstr("version 2 (tensor 2) of 1 bytes has no place"));
  EXPECT_THAT(messages_of(found), HasSubstr("task 2"));
}

TEST(Check, MissesPlacesThatArenotThereAtAll) {
  Plan plan = in_program_order(chain(), chain_places());
  plan.places.pop_back();
  EXPECT_THAT(rules_of(check(chain(), plan)), Contains(Rule::missing));
}

TEST(Check, FindsAPageThatDoesNotExist) {
  Plan plan = in_program_order(chain(), chain_places());
  plan.places[1].page = PageId(7);
  EXPECT_THAT(rules_of(check(chain(), plan)), Contains(Rule::missing));
}

TEST(Check, FindsAVersionPastTheEndOfItsPage) {
  Plan plan = in_program_order(chain(), chain_places());
  plan.pages[0].bytes = 9;
  const auto found = check(chain(), plan);
  ASSERT_THAT(rules_of(found), Contains(Rule::off_page));
  EXPECT_THAT(messages_of(found), HasSubstr("offset 0 of page 0, and that page has only 9 bytes"));
}

TEST(Check, FindsAnOffsetSoLargeThatItsEndWouldWrapAround) {
  Plan plan = in_program_order(chain(), chain_places());
  plan.places[0].offset = kWholeSize - 1;
  EXPECT_THAT(rules_of(check(chain(), plan)), Contains(Rule::off_page));
}

TEST(Check, FindsAMisalignedOffset) {
  const Problem problem = window({256, 256}, {{.writes = {0, 1}}, {.reads = {0, 1}}}, 256);
  const auto found = check(problem, in_program_order(problem, places({{0, 0}, {0, 384}})));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::misaligned));
  EXPECT_THAT(messages_of(found), HasSubstr("offset 384"));
  EXPECT_THAT(messages_of(found), HasSubstr("256"));
}

TEST(Check, FindsAPageAboveTheLimit) {
  Problem problem = chain();
  problem.device.max_page_bytes = 9;
  const auto found = check(problem, in_program_order(problem, chain_places()));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::page_limit));
  EXPECT_THAT(messages_of(found), HasSubstr("page 0 has 10 bytes, above the limit of 9"));
}

TEST(Check, FindsPagesAboveTheBudget) {
  Problem problem = chain();
  problem.device.budget = 11;
  const auto found = check(problem, in_program_order(problem, chain_places()));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::budget));
  EXPECT_THAT(messages_of(found), HasSubstr("12 bytes together, above the budget of 11"));
}

TEST(Check, CountsABudgetInRoundedPages) {
  Problem problem = chain();
  problem.device.page_granularity = 64;
  problem.device.budget = 191;
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, chain_places()))),
              ElementsAre(Rule::budget));
  problem.device.budget = 192;
  EXPECT_THAT(check(problem, in_program_order(problem, chain_places())), IsEmpty());
}

TEST(Check, FindsTwoPoolsOnOnePage) {
  Problem problem = chain();
  problem.versions[3].pool = PoolId(1);
  const auto found = check(problem, in_program_order(problem, chain_places()));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::pool));
  EXPECT_THAT(messages_of(found), HasSubstr("version 3"));
}

TEST(Check, FindsAMovedFixedVersion) {
  Problem problem = chain();
  problem.pages = {{.bytes = 32, .free = {{10, 22}}}};
  problem.versions[0].incoming = true;
  problem.versions[0].fixed = Place{PageId(0), 0};
  const auto right = in_program_order(problem, places({{0, 0}, {1, 0}, {2, 0}, {0, 10}}));
  EXPECT_THAT(check(problem, right), IsEmpty()) << messages_of(check(problem, right));
  const auto found =
      check(problem, in_program_order(problem, places({{0, 1}, {1, 0}, {2, 0}, {0, 11}})));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::moved_fixed));
  EXPECT_THAT(messages_of(found), HasSubstr("fixed at offset 0 of page 0"));
}

TEST(Check, FindsTakenRoomOnAnExistingPage) {
  Problem problem = chain();
  problem.pages = {{.bytes = 64, .free = {{0, 4}, {4, 5}, {32, 32}}}};
  const auto found = check(problem, in_program_order(problem, chain_places()));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::taken_room, Rule::taken_room));
  EXPECT_THAT(messages_of(found), HasSubstr("byte 9 is not free"));
  problem.pages[0].free[1].bytes = 6;  // [0, 4) and [4, 10): two neighbours are one room
  EXPECT_THAT(check(problem, in_program_order(problem, chain_places())), IsEmpty());
}

TEST(Check, LetsAPageGrowOnlyWhereTheDeviceCan) {
  Problem problem = chain();
  problem.pages = {{.bytes = 8, .free = {{0, 8}}}};
  const Plan plan = in_program_order(problem, chain_places());
  problem.device.growth = Growth::add;
  EXPECT_THAT(rules_of(check(problem, plan)), Contains(Rule::taken_room));
  problem.device.growth = Growth::replace;
  EXPECT_THAT(rules_of(check(problem, plan)), Contains(Rule::taken_room));
  problem.pages[0].idle = true;
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
}

TEST(Check, FindsTwoLiveVersionsThatShareBytes) {
  // time    0  1  2
  // v0      w  .  r      v1 lies on v0's last byte while v0 is still wanted
  // v1      .  w  r
  const Problem problem = window({8, 8}, {{.writes = {0}}, {.writes = {1}}, {.reads = {0, 1}}});
  const auto found = check(problem, in_program_order(problem, places({{0, 0}, {0, 7}})));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::overlap));
  EXPECT_THAT(found[0].versions, ElementsAre(VersionId(0), VersionId(1)));
  EXPECT_THAT(found[0].tasks, ElementsAre(TaskId(1)));
  EXPECT_EQ(found[0].page, PageId(0));
  EXPECT_THAT(messages_of(found), HasSubstr("[0, 8)"));
  EXPECT_THAT(messages_of(found), HasSubstr("[7, 15)"));
}

TEST(Check, FindsAnOutputOverAnInputThatDiesInTheSameTask) {
  Problem problem = window({8, 8}, {{.writes = {0}}, {.reads = {0}, .writes = {1}}});
  problem.device.exclusion = false;
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, places({{0, 0}, {0, 0}})))),
              ElementsAre(Rule::overlap));
}

TEST(Check, FindsAVersionOverOneThatOutlivesTheWindow) {
  Problem problem = window({8, 8}, {{.writes = {0}}, {.writes = {1}}});
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 0}}));
  EXPECT_THAT(check(problem, plan), IsEmpty());
  problem.versions[0].outlives = true;
  EXPECT_THAT(rules_of(check(problem, plan)), Contains(Rule::overlap));
  problem.versions[0].outlives = false;
  problem.versions[1].incoming = true;
  const auto found = check(problem, plan);
  EXPECT_THAT(rules_of(found), Contains(Rule::overlap));
}

TEST(Check, FindsAnOverlapThatOnlyTheOrderMakes) {
  const Problem problem =
      window({4, 4}, {{.writes = {0}}, {.reads = {0}}, {.writes = {1}}, {.reads = {1}}});
  const std::vector<Place> at = places({{0, 0}, {0, 0}});
  EXPECT_THAT(check(problem, in_program_order(problem, at)), IsEmpty());
  const Plan turned = plan_at(problem, at, {TaskId(0), TaskId(2), TaskId(1), TaskId(3)});
  EXPECT_THAT(rules_of(check(problem, turned)), ElementsAre(Rule::overlap));
}

TEST(Check, FindsAReadAndAWriteOfOnePageInATask) {
  const auto found =
      check(chain(), in_program_order(chain(), places({{0, 0}, {1, 0}, {1, 1}, {0, 0}})));
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::exclusion));
  EXPECT_THAT(found[0].tasks, ElementsAre(TaskId(2)));
  EXPECT_THAT(found[0].versions, ElementsAre(VersionId(2), VersionId(1)));
  EXPECT_EQ(found[0].page, PageId(1));
  EXPECT_THAT(messages_of(found), HasSubstr("task 2 writes version 2 (tensor 2) and only reads "
                                            "version 1 (tensor 1), both on page 1"));
}

TEST(Check, FindsTheTwoSidesOfACopyOnOnePage) {
  Problem problem = window({8, 8}, {{.writes = {0}}, {.reads = {0}, .writes = {1}}});
  problem.tasks[1].kind = TaskKind::copy;
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, places({{0, 0}, {0, 8}})))),
              ElementsAre(Rule::exclusion));
}

TEST(Check, FindsAnUpdateBesideAReadOnOnePage) {
  const Problem problem =
      window({8, 8}, {{.writes = {0}}, {.writes = {1}}, {.reads = {0}, .updates = {1}}});
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, places({{0, 0}, {0, 8}})))),
              ElementsAre(Rule::exclusion));
}

TEST(Check, FindsWritableRangesThatMeetAfterRounding) {
  // Offsets 0 and 300 round down to 0 and 256: the second binding then covers bytes of the first.
  Problem problem = window({300, 40}, {{.writes = {0, 1}}}, 4);
  problem.device.binding_alignment = 256;
  problem.uses[1].any_offset = true;
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 300}}));
  const auto found = check(problem, plan);
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::rounding));
  EXPECT_THAT(messages_of(found), HasSubstr("[0, 300)"));
  EXPECT_THAT(messages_of(found), HasSubstr("multiples of 256"));
  problem.device.binding_alignment = 4;
  EXPECT_THAT(check(problem, plan), IsEmpty());
}

TEST(Check, LetsAPromotedTaskShareAPageIfNoRangesMeet) {
  Problem problem = window({256, 256}, {{.writes = {0}}, {.reads = {0}, .writes = {1}}}, 4);
  problem.device.binding_alignment = 256;
  problem.tasks[1].promoted = true;
  for (Use& use : problem.uses) use.any_offset = true;
  EXPECT_THAT(check(problem, in_program_order(problem, places({{0, 0}, {0, 256}}))), IsEmpty());
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, places({{0, 4}, {0, 260}})))),
              ElementsAre(Rule::rounding));
}

TEST(Check, FindsABindingThatStartsBetweenTwoMultiplesOfTheAlignment) {
  // A slice from byte 4 on: its kernel must take any offset, or the slice must be copied.
  Problem problem = window({256}, {{.writes = {0}}, {.reads = {0}}}, 256);
  problem.device.binding_alignment = 256;
  problem.uses[1].range = {4, 8};
  const Plan plan = in_program_order(problem, places({{0, 0}}));
  const auto found = check(problem, plan);
  ASSERT_THAT(rules_of(found), ElementsAre(Rule::misaligned));
  EXPECT_THAT(messages_of(found), HasSubstr("task 1 binds bytes [4, 12) of page 0"));
  problem.uses[1].any_offset = true;
  EXPECT_THAT(check(problem, plan), IsEmpty());
}

TEST(Check, KeepsIndirectArgumentsOffEveryWrittenPageEvenIfPromoted) {
  Problem problem =
      window({256, 256}, {{.writes = {0}}, {.reads = {0}, .writes = {1}}, {.reads = {1}}}, 256);
  problem.tasks[1].promoted = true;
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 256}}));
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
  problem.uses[1].argument = true;
  EXPECT_THAT(rules_of(check(problem, plan)), ElementsAre(Rule::exclusion));
}

TEST(Check, LetsTheBytesOfAFixedVersionBeUsedWhileItIsDead) {
  // v0 is fixed and dies in task 0; v1 may take its bytes from task 1 on. v2 is fixed, unused and
  // wanted before and after the window: its bytes are never free.
  Problem problem = window({8, 8, 8}, {{.reads = {0}}, {.writes = {1}}});
  problem.pages = {{.bytes = 16, .free = {}}};
  problem.versions[0].fixed = Place{PageId(0), 0};
  problem.versions[0].incoming = true;
  problem.versions[2].fixed = Place{PageId(0), 8};
  problem.versions[2].incoming = true;
  problem.versions[2].outlives = true;
  const std::vector<Place> at = {{PageId(0), 0}, {PageId(0), 0}, {}};
  EXPECT_THAT(check(problem, in_program_order(problem, at)), IsEmpty())
      << messages_of(check(problem, in_program_order(problem, at)));
  const std::vector<Place> over = {{PageId(0), 0}, {PageId(0), 8}, {}};
  EXPECT_THAT(rules_of(check(problem, in_program_order(problem, over))),
              ElementsAre(Rule::overlap));
}

TEST(Check, FindsAnOrderThatBreaksAHazard) {
  const Plan plan = plan_at(chain(), chain_places(), {TaskId(0), TaskId(2), TaskId(1), TaskId(3)});
  const auto found = check(chain(), plan);
  ASSERT_THAT(rules_of(found), Contains(Rule::order));
  EXPECT_THAT(messages_of(found), HasSubstr("task 2 runs at position 1, before task 1"));
}

TEST(Check, FindsAnOrderThatIsNoPermutation) {
  for (const std::vector<TaskId>& order : {std::vector<TaskId>{},
                                           {TaskId(0), TaskId(1), TaskId(1), TaskId(3)},
                                           {TaskId(0), TaskId(1), TaskId(2), TaskId(9)}}) {
    Plan plan = in_program_order(chain(), chain_places());
    plan.order = order;
    EXPECT_THAT(rules_of(check(chain(), plan)), ElementsAre(Rule::order));
  }
}

TEST(Check, KnowsThatUpdatesOfDistinctRangesMayTradePlaces) {
  Problem problem = window({64}, {{.updates = {0}}, {.updates = {0}}, {.reads = {0}}});
  problem.uses[0].range = {0, 32};
  problem.uses[1].range = {32, 32};
  const std::vector<Place> at = places({{0, 0}});
  const Plan plan = plan_at(problem, at, {TaskId(1), TaskId(0), TaskId(2)});
  EXPECT_THAT(plan.levels, ElementsAre(0, 0, 1));
  EXPECT_THAT(check(problem, plan), IsEmpty()) << messages_of(check(problem, plan));
  problem.uses[1].range = {31, 32};
  EXPECT_THAT(rules_of(check(problem, plan)), Contains(Rule::order));
}

TEST(Check, FindsAnInPlacePairThatMayNotBeTaken) {
  // x (v0) is read by both tasks; only the second one may write its output over it.
  Problem problem =
      window({8, 8, 8}, {{.reads = {0}, .writes = {1}}, {.reads = {0}, .writes = {2}}});
  problem.versions[0].incoming = true;
  problem.in_place = {{TaskId(0), VersionId(0), VersionId(1)},
                      {TaskId(1), VersionId(0), VersionId(2)}};
  Plan right = in_program_order(problem, places({{0, 0}, {1, 0}, {0, 0}}));
  right.in_place = {1};
  right.statistics.in_place = 1;
  right.statistics.lower_bound = lower_bound(problem, right.order);
  EXPECT_EQ(right.statistics.lower_bound, 16U);
  EXPECT_THAT(check(problem, right), IsEmpty()) << messages_of(check(problem, right));

  Plan wrong = in_program_order(problem, places({{0, 0}, {0, 0}, {1, 0}}));
  wrong.in_place = {0};
  wrong.statistics.in_place = 1;
  const auto found = check(problem, wrong);
  EXPECT_THAT(rules_of(found), Contains(Rule::in_place));
  EXPECT_THAT(messages_of(found), HasSubstr("its input is still needed afterwards"));
  EXPECT_THAT(rules_of(found), Contains(Rule::overlap));

  Plan elsewhere = right;
  elsewhere.places[2] = {PageId(1), 8};
  EXPECT_THAT(messages_of(check(problem, elsewhere)),
              HasSubstr("its input lies at offset 0 of page"));
  Plan none = right;
  none.in_place = {2};
  EXPECT_THAT(messages_of(check(problem, none)), HasSubstr("has only 2 pairs"));
}

TEST(Check, FindsAChoiceOfInPlacePairsThatIsTakenInPart) {
  Problem problem =
      window({8, 8, 8, 8}, {{.writes = {0}}, {.writes = {1}}, {.reads = {0, 1}, .writes = {2, 3}}});
  problem.in_place = {{TaskId(2), VersionId(0), VersionId(2), 0},
                      {TaskId(2), VersionId(1), VersionId(3), 0},
                      {TaskId(2), VersionId(1), VersionId(2), 1}};
  EXPECT_EQ(lower_bound(problem, program_order(problem)), 16U);
  Plan both = in_program_order(problem, places({{0, 0}, {0, 8}, {0, 0}, {0, 8}}));
  both.in_place = {0, 1};
  both.statistics.in_place = 2;
  both.statistics.lower_bound = 16;
  EXPECT_THAT(check(problem, both), IsEmpty()) << messages_of(check(problem, both));
  Plan one = in_program_order(problem, places({{0, 0}, {1, 0}, {0, 0}, {2, 0}}));
  one.in_place = {0};
  one.statistics.in_place = 1;
  one.statistics.lower_bound = 16;
  EXPECT_THAT(rules_of(check(problem, one)), Contains(Rule::in_place));
  EXPECT_THAT(messages_of(check(problem, one)), HasSubstr("without pair 1 (choice 0)"));
}

TEST(Check, FindsWrongFigures) {
  const Plan right = in_program_order(chain(), chain_places());
  std::vector<Plan> wrong(8, right);
  wrong[0].statistics.peak += 1;
  wrong[1].statistics.lower_bound -= 1;
  wrong[2].statistics.barriers += 1;
  wrong[3].statistics.barriers_demanded += 1;
  wrong[4].statistics.levels += 1;
  wrong[5].statistics.pages += 1;
  wrong[6].statistics.to_make += 1;
  wrong[7].levels[2] = 0;
  for (const Plan& plan : wrong) {
    EXPECT_THAT(rules_of(check(chain(), plan)), ElementsAre(Rule::statistics));
  }
}

TEST(Check, FindsAPageLargerThanWhatLiesOnIt) {
  Plan plan = in_program_order(chain(), chain_places());
  plan.pages[1].bytes = 100;
  plan.statistics.peak += 99;
  plan.statistics.to_make += 99;
  EXPECT_THAT(rules_of(check(chain(), plan)), ElementsAre(Rule::statistics));
}

TEST(Check, RefusesAProblemWhoseIndicesPointOutside) {
  Problem problem = chain();
  problem.uses[2].version = VersionId(99);
  EXPECT_THROW(static_cast<void>(check(problem, in_program_order(chain(), chain_places()))), Error);
}

TEST(Check, AcceptsAHundredThousandVersions) {
  constexpr std::uint32_t kVersions = 100'000;
  std::vector<Bytes> sizes(kVersions, 256);
  std::vector<table::Row> rows(kVersions);
  std::vector<Place> at(kVersions);
  for (std::uint32_t v = 0; v < kVersions; ++v) {
    rows[v].writes = {v};
    if (v > 0) rows[v].reads = {v - 1};
    at[v] = {PageId(v % 2), 0};
  }
  const Problem problem = window(sizes, rows, 256);
  Plan plan;
  plan.places = at;
  plan.order = program_order(problem);
  plan.pages = {{256, PoolId(0), true}, {256, PoolId(0), true}};
  for (std::uint32_t t = 0; t < kVersions; ++t) plan.levels.push_back(t);
  plan.statistics.lower_bound = 512;
  plan.statistics.peak = 512;
  plan.statistics.to_make = 512;
  plan.statistics.pages = 2;
  plan.statistics.levels = kVersions;
  plan.statistics.barriers = kVersions - 1;
  plan.statistics.barriers_demanded = kVersions - 1;
  const auto found = check(problem, plan);
  EXPECT_THAT(found, IsEmpty()) << messages_of(found);
}

TEST(LowerBound, CountsAnInPlacePairOnce) {
  Problem problem = window({8, 8}, {{.writes = {0}}, {.reads = {0}, .writes = {1}}});
  EXPECT_EQ(lower_bound(problem, program_order(problem)), 16U);
  problem.in_place = {{TaskId(1), VersionId(0), VersionId(1)}};
  EXPECT_EQ(lower_bound(problem, program_order(problem)), 8U);
}

TEST(LowerBound, RoundsSizesToTheirAlignment) {
  const Problem problem = window({1, 257}, {{.writes = {0, 1}}}, 256);
  EXPECT_EQ(lower_bound(problem, program_order(problem)), 768U);
}

TEST(LowerBound, RefusesAnOrderThatIsNoPermutation) {
  EXPECT_THROW(static_cast<void>(lower_bound(chain(), {TaskId(0)})), Error);
}

TEST(Barriers, AreOnePerDependentTaskOnOnePage) {
  Problem problem = chain();
  problem.device.exclusion = false;
  const Plan plan = in_program_order(problem, places({{0, 0}, {0, 10}, {0, 0}, {0, 1}}));
  EXPECT_EQ(count_barriers(problem, plan), 3U);
}

TEST(Barriers, ClearAllStateAtOnce) {
  // Tasks 0 and 1 write pages 0 and 1; task 2 reads page 0 (a barrier), task 3 page 1 (cleared).
  const Problem problem =
      window({4, 4}, {{.writes = {0}}, {.writes = {1}}, {.reads = {0}}, {.reads = {1}}});
  EXPECT_EQ(count_barriers(problem, in_program_order(problem, places({{0, 0}, {1, 0}}))), 1U);
}

}  // namespace
}  // namespace berth::plan
