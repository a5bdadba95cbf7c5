// SPDX-License-Identifier: Apache-2.0
#include "client/interval_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace berth::client {
namespace {

TEST(IntervalSet, MeetsNothingWhenEmpty) {
  const IntervalSet set;
  EXPECT_FALSE(set.meets({0, kWholeSize}));
}

TEST(IntervalSet, MeetsOnlyWhereAByteIsShared) {
  IntervalSet set;
  set.add({100, 50});
  EXPECT_TRUE(set.meets({100, 50}));
  EXPECT_TRUE(set.meets({149, 1}));
  EXPECT_TRUE(set.meets({0, 101}));
  EXPECT_TRUE(set.meets({0, kWholeSize}));
  EXPECT_FALSE(set.meets({150, 50}));
  EXPECT_FALSE(set.meets({0, 100}));
  EXPECT_FALSE(set.meets({120, 0})) << "an empty range meets nothing";
}

TEST(IntervalSet, TakesNoEmptyRange) {
  IntervalSet set;
  set.add({10, 0});
  EXPECT_FALSE(set.meets({0, 100}));
}

TEST(IntervalSet, JoinsNeighboursAndSwallowsWhatLiesInside) {
  IntervalSet set;
  set.add({0, 10});
  set.add({20, 10});
  EXPECT_FALSE(set.meets({10, 10}));
  set.add({10, 10});
  EXPECT_TRUE(set.meets({10, 1}));
  EXPECT_TRUE(set.meets({19, 1}));
  set.add({5, 100});
  EXPECT_TRUE(set.meets({104, 1}));
  EXPECT_FALSE(set.meets({105, 1}));
  set.clear();
  EXPECT_FALSE(set.meets({0, 1000}));
}

TEST(IntervalSet, AnswersLikeASetOfBytes) {
  std::mt19937_64 random(17);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 200; ++round) {
    IntervalSet set;
    std::vector<bool> bytes(64, false);
    for (int step = 0; step < 12; ++step) {
      const Range range{below(60), below(5)};
      set.add(range);
      for (Bytes b = range.offset; b < range.end(); ++b) bytes[b] = true;
      for (Bytes offset = 0; offset < 60; ++offset) {
        const Range asked{offset, below(5)};
        bool expected = false;
        for (Bytes b = asked.offset; b < asked.end(); ++b) expected = expected || bytes[b];
        ASSERT_EQ(set.meets(asked), expected) << "round " << round << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace berth::client
