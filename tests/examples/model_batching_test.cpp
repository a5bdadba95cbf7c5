// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "minilm/batching.hpp"

namespace minilm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::uint64_t padded_tokens(const std::vector<Batch>& batches) {
  return std::accumulate(batches.begin(), batches.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Batch& b) { return sum + b.padded_tokens(); });
}

TEST(PlanBatches, MakesNoneOfNothing) { EXPECT_THAT(plan_batches({}, 2048), IsEmpty()); }

TEST(PlanBatches, KeepsSentencesOfLikeLengthTogether) {
  const auto batches = plan_batches(std::vector<std::uint32_t>{250, 5, 240, 6, 5}, 2048);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].sentences, ElementsAre(1, 4, 3));
  EXPECT_EQ(batches[0].longest, 6U);
  EXPECT_THAT(batches[1].sentences, ElementsAre(2, 0));
  EXPECT_EQ(batches[1].longest, 250U);
}

TEST(PlanBatches, GivesASentenceAboveTheBudgetABatchOfItsOwn) {
  const auto batches = plan_batches(std::vector<std::uint32_t>{100, 100, 4}, 50);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_THAT(batches[0].sentences, ElementsAre(2));
}

TEST(PlanBatches, HoldsEachSentenceOnceWithinTheBudgetAndPadsLessThanOneBatchWould) {
  rc::check([] {
    const auto lengths =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(1U, 257U));
    const std::uint32_t budget = *rc::gen::inRange(256U, 4096U);
    const std::vector<Batch> batches = plan_batches(lengths, budget);
    std::vector<std::uint32_t> seen;
    for (const Batch& batch : batches) {
      RC_ASSERT(!batch.sentences.empty());
      RC_ASSERT(batch.padded_tokens() <= budget);
      std::uint32_t longest = 0;
      for (const std::uint32_t i : batch.sentences) longest = std::max(longest, lengths[i]);
      RC_ASSERT(batch.longest == longest);
      seen.insert(seen.end(), batch.sentences.begin(), batch.sentences.end());
    }
    std::ranges::sort(seen);
    std::vector<std::uint32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0U);
    RC_ASSERT(seen == all);
    const std::uint64_t longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
    RC_ASSERT(padded_tokens(batches) <= longest * lengths.size());
  });
}

}  // namespace
}  // namespace minilm
