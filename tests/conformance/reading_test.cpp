// SPDX-License-Identifier: Apache-2.0
//
// Results: ready, then and get; several in one call; many under way.
#include <stdexcept>

#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

class Reading : public Conformance {
 protected:
  static void wait_for(const Readback<std::uint32_t>& result) {
    while (!result.ready()) {
    }
  }
};
BERTH_UNDER_EVERY_POLICY(Reading);

TEST_P(Reading, GetWaitsAndMayBeAskedAgain) {
  const Handle x = tensor(counted(100));
  const auto result = client().read<std::uint32_t>(x);
  EXPECT_EQ(result.parts(), 1U);
  expect_words(result, counted(100));
  expect_words(result, counted(100));
  EXPECT_TRUE(result.ready());
  EXPECT_EQ(result.error(), nullptr);
}

TEST_P(Reading, BecomesReadyWithoutBeingWaitedFor) {
  const Handle x = tensor(counted(100));
  const auto result = client().read<std::uint32_t>(x);
  wait_for(result);
  expect_words(result, counted(100));
}

TEST_P(Reading, CallsBackOnceWithItsResult) {
  const Handle x = tensor(counted(100));
  const auto result = client().read<std::uint32_t>(x);
  int calls = 0;
  Words found;
  result.then([&](Readback<std::uint32_t>& done) {
    ++calls;
    EXPECT_TRUE(done.ready());
    found = done.get();
  });
  client().sync();
  wait_for(result);
  client().poll();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(found.size(), 100U);
  if (computes()) {
    EXPECT_EQ(found, counted(100));
  }
  bool at_once = false;
  result.then([&](Readback<std::uint32_t>&) { at_once = true; });
  EXPECT_TRUE(at_once);
}

TEST_P(Reading, ACallbackMayUseTheClient) {
  const Handle x = tensor(counted(100));
  const Handle y = empty(100);
  const auto result = client().read<std::uint32_t>(x);
  bool called = false;
  result.then([&](Readback<std::uint32_t>& done) {
    called = true;
    client().upload(y, std::span<const std::uint32_t>(done.get()));
    client().flush();
  });
  wait_for(result);
  ASSERT_TRUE(called);
  expect_words(y, counted(100));
}

TEST_P(Reading, AnExceptionOfACallbackReachesTheCallThatRanItAndHarmsNothing) {
  const Handle x = tensor(counted(100));
  const auto first = client().read<std::uint32_t>(x);
  client().sync();
  // Not ready before the device's events are looked at: which verb runs it depends on the runtime.
  bool thrown = false;
  const auto guarded = [&](const std::function<void()>& verb) {
    try {
      verb();
    } catch (const std::logic_error&) {
      thrown = true;
    }
  };
  guarded([&] {
    first.then([](Readback<std::uint32_t>&) { throw std::logic_error("of the user's"); });
  });
  const Handle y = empty(100);
  guarded([&] { launch_scale(x, y, 100, 2, 0); });
  guarded([&] { static_cast<void>(client().read<std::uint32_t>(y)); });
  guarded([&] { client().poll(); });
  guarded([&] { wait_for(first); });
  EXPECT_TRUE(thrown);
  expect_words(y, counted(100, 0, 2));
  expect_words(x, counted(100));
}

TEST_P(Reading, SeveralInOneCallAreOneSubmission) {
  const Handle a = tensor(counted(10));
  const Handle b = tensor(counted(2000, 5));
  const Handle none = client().zeros(0);
  const std::uint64_t windows = client().report().windows;
  const auto result = client().read<std::uint32_t>({a, none, b, b.slice(4000, 40), a});
  EXPECT_EQ(client().report().windows, windows + 1);
  ASSERT_EQ(result.parts(), 5U);
  expect_words(result, counted(10), 0);
  expect_words(result, {}, 1);
  expect_words(result, counted(2000, 5), 2);
  expect_words(result, counted(10, 1005), 3);
  expect_words(result, counted(10), 4);
  EXPECT_THAT(error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(result.get(5)); }),
              testing::HasSubstr("part"));
}

TEST_P(Reading, ManyUnderWayEachGetTheirOwnBytesInAnyOrder) {
  const Handle x = tensor(counted(1000));
  std::vector<Readback<std::uint32_t>> results;
  for (std::uint32_t i = 0; i < 12; ++i) {
    results.push_back(client().read<std::uint32_t>(x));
    launch_scale(x, x, 1000, 1, 1);
  }
  for (const std::uint32_t i : {11U, 3U, 7U, 0U, 10U, 1U, 9U, 2U, 8U, 4U, 6U, 5U}) {
    expect_words(results[i], counted(1000, i));
  }
}

TEST_P(Reading, ResultsDroppedBeforeTheyArriveDisturbNoOther) {
  const Handle x = tensor(counted(1000));
  for (std::uint32_t i = 0; i < 5; ++i) {
    static_cast<void>(client().read<std::uint32_t>(x));
    const auto kept = client().read<std::uint32_t>(x);
    static_cast<void>(client().read<std::uint32_t>(x.slice(0, 400)));
    expect_words(kept, counted(1000));
  }
}

TEST_P(Reading, ATensorReadAndThenWrittenAgainGivesWhatItHeldAtTheRead) {
  const Handle x = tensor(counted(1000));
  const auto before = client().read<std::uint32_t>(x);
  client().upload(x, std::span<const std::uint32_t>(counted(1000, 7000)));
  const auto between = client().read<std::uint32_t>(x.slice(0, 40));
  client().fill(x, 3);
  client().flush();
  expect_words(x, Words(1000, 3));
  expect_words(between, counted(10, 7000));
  expect_words(before, counted(1000));
}

TEST_P(Reading, ATensorHandedOverToAReadIsReadAndFreed) {
  Handle x = tensor(counted(1000));
  const auto result = client().read<std::uint32_t>({std::move(x)});
  EXPECT_FALSE(x);  // NOLINT(bugprone-use-after-move): that is the claim
  expect_words(result, counted(1000));
  client().flush();
  EXPECT_EQ(client().report().persistent, 0U);
}

TEST_P(Reading, LargeResultsArriveWhole) {
  const std::size_t words = (9 * kMiB + 4) / 4;
  const Handle x = empty(words);
  client().fill(x, 4);
  client().upload(x.slice(9 * kMiB, 4), std::span<const std::uint32_t>(Words{8}));
  Words expected(words, 4);
  expected.back() = 8;
  expect_words(x, expected);
}

TEST_P(Reading, OtherTypesAreReadAsTheyWereWritten) {
  const std::vector<float> floats = {0.5F, -1.25F, 3.0F};
  const Handle x = client().create(floats);
  const std::vector<float> found = client().read<float>(x).get();
  ASSERT_EQ(found.size(), 3U);
  if (computes()) {
    EXPECT_EQ(found, floats);
  }
}

}  // namespace
}  // namespace berth::conformance
