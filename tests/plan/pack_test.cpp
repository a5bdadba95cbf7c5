// SPDX-License-Identifier: Apache-2.0
//
// Packing one page, and exact answers for a few items.
#include "plan/pack.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/exact.hpp"
#include "plan/sweep.hpp"

namespace berth::plan::detail {
namespace {

Item item(Bytes size, std::uint32_t start, std::uint32_t end, Bytes alignment = 1) {
  return {align_up(size, alignment), size, alignment, start, end};
}

void expect_apart(const std::vector<Item>& items, const Packing& packing) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(packing.offset[i] % items[i].alignment, 0U);
    ASSERT_LE(packing.offset[i] + items[i].size, packing.extent);
    for (std::size_t j = 0; j < i; ++j) {
      if (!items[i].meets(items[j])) continue;
      const Range a{packing.offset[i], items[i].size};
      const Range b{packing.offset[j], items[j].size};
      ASSERT_FALSE(a.overlaps(b)) << i << " and " << j;
    }
  }
}

//  3 +--+--+        the one of 2 goes below the hole that 1 and 3 leave, if somebody is ejected:
//    |a |   c |     first fit by size needs 4
//    +--+--+--+
TEST(Pack, ReachesWhatIsLiveAtOnceWhereFirstFitDoesNot) {
  const std::vector<Item> items{item(2, 0, 2), item(1, 1, 4), item(2, 3, 5),
                                item(1, 0, 1), item(2, 2, 4), item(1, 4, 6)};
  Random random(1);
  const Bytes target = max_live(items, 6);
  const Packing packing = pack(items, target, 100'000, random);
  expect_apart(items, packing);
  EXPECT_EQ(packing.extent, target);
}

RC_GTEST_PROP(Pack, NeverOverlaps, (std::uint64_t seed)) {
  Random random(seed);
  std::vector<Item> items;
  const std::uint32_t count = 1 + random.below(60);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t start = random.below(40);
    items.push_back(item(1 + random.below(100), start, start + 1 + random.below(12),
                         Bytes{1} << random.below(5)));
  }
  const Packing packing = pack(items, max_live(items, 60), 50'000, random);
  expect_apart(items, packing);
}

/// A chain in which each item conflicts with the next: 10, 1, 1, 10.
PoolProblem chain() {
  PoolProblem problem;
  problem.positions = 4;
  problem.items = {item(10, 0, 2), item(1, 1, 3), item(1, 2, 4), item(10, 3, 4)};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t i = 0; i < 3; ++i) {
    pairs.emplace_back(i, i + 1);
    pairs.emplace_back(i + 1, i);
  }
  problem.conflicts = Graph(4, std::move(pairs));
  problem.first_touch.assign(5, 0);
  return problem;
}

// Two pages suffice to colour the chain, and cost 20; three cost 12.
TEST(Exact, TakesAThirdPageWhereTwoCostMore) {
  const PoolProblem problem = chain();
  Keeper keeper(problem);
  keeper.offer(sweep(problem, Bins::ignore));
  EXPECT_TRUE(solve_exactly(problem, keeper, 100'000));
  EXPECT_EQ(keeper.cost().to_make, 12U);
  EXPECT_EQ(keeper.cost().new_pages, 3U);
}

TEST(Exact, SaysSoWhenItsStepsRunOut) {
  const PoolProblem problem = chain();
  Keeper keeper(problem);
  keeper.offer(sweep(problem, Bins::ignore));
  EXPECT_FALSE(solve_exactly(problem, keeper, 1));
}

TEST(Cost, PagesBeyondTheFewMustSaveOnePercent) {
  const Cost few{1000, 1000, 8};
  EXPECT_FALSE(better({995, 995, 9}, few, 8));
  EXPECT_TRUE(better({980, 980, 9}, few, 8));
  EXPECT_TRUE(better(few, {995, 995, 9}, 8));
  EXPECT_TRUE(better({999, 999, 8}, few, 8));
}

}  // namespace
}  // namespace berth::plan::detail
