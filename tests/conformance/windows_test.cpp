// SPDX-License-Identifier: Apache-2.0
//
// Windows: when they close, what they cost, what the report says of them.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

class Windows : public Conformance {
 protected:
  /// Three launches over transients; returns the sum of x, 2x + 1 and so on.
  [[nodiscard]] Handle run(const Handle& x, std::size_t words) {
    Handle a = empty(words);
    launch_scale(x, a, words, 2, 1);
    Handle b = empty(words);
    launch_scale(a, b, words, 3, 0);
    Handle out = empty(words);
    client().launch(test::add_kernel(), cover(words, kGroup), {std::move(a), std::move(b), out},
                    test::Count{static_cast<std::uint32_t>(words)});
    return out;
  }
  static Words result(const Words& x) { return scaled(scaled(x, 2, 1), 4, 0); }
};
BERTH_UNDER_EVERY_POLICY(Windows);

TEST_P(Windows, CloseAtFlushSyncStepEndAndReadAndNowhereElse) {
  const std::uint64_t first = client().report().windows;
  const Handle x = tensor(counted(10));
  const Handle y = empty(10);
  launch_copy(x, y, 10);
  client().poll();
  EXPECT_EQ(client().report().windows, first);
  client().flush();
  EXPECT_EQ(client().report().windows, first + 1);
  launch_copy(x, y, 10);
  client().sync();
  EXPECT_EQ(client().report().windows, first + 2);
  launch_copy(x, y, 10);
  client().step_end();
  EXPECT_EQ(client().report().windows, first + 3);
  expect_words(y, counted(10));
  EXPECT_EQ(client().report().windows, first + 4);
}

TEST_P(Windows, WithoutTasksAreNotSubmitted) {
  const std::uint64_t first = client().report().windows;
  client().flush();
  client().sync();
  client().step_end();
  client().discard();
  EXPECT_EQ(client().report().windows, first);
}

TEST_P(Windows, ReportTheirTasksAndPlan) {
  const Handle x = tensor(counted(1000));
  const Handle out = run(x, 1000);
  client().flush();
  const WindowReport window = client().report().last_window;
  EXPECT_EQ(window.tasks, 4U);
  EXPECT_EQ(window.tensors, 4U);
  EXPECT_GE(window.lower_bound, 4 * 4000U);  // x, a, b, out in the last task
  EXPECT_GE(window.planned_peak, 4 * 4000U);
  EXPECT_GE(window.pages, has_rule() && policy() != Policy::read_write ? 2U : 1U);
  EXPECT_EQ(window.levels, 4U);
  EXPECT_GE(window.hazards, 4U);
  EXPECT_GE(window.pages_made, window.planned_peak);
  EXPECT_EQ(window.repairs, 0U);
  expect_words(out, result(counted(1000)));
}

TEST_P(Windows, OfTheSameProgramMakeNoPageTheSecondTime) {
  const Words data = counted(5000);
  const Handle x = tensor(data);
  client().sync();
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::uint64_t before = client().report().pages_made;
    {
      const Handle out = run(x, 5000);
      expect_words(out, result(data));
    }
    client().sync();
    if (round > 0) {
      EXPECT_EQ(client().report().pages_made, before) << "round " << round;
    }
  }
}

TEST_P(Windows, WhoseInputsAndOutputsTradePlacesSettleOnTheirPages) {
  Handle x = tensor(counted(5000));
  std::uint64_t before = 0;
  for (std::uint32_t round = 0; round < 8; ++round) {
    if (round == 4) before = client().report().pages_made;
    Handle y = empty(5000);
    launch_scale(std::move(x), y, 5000, 2, 1);
    x = std::move(y);
    client().sync();
  }
  EXPECT_EQ(client().report().pages_made, before);
}

TEST_P(Windows, OfEverySizeMakeNoPageOnceTheLargestWasSeen) {
  const auto step = [&](std::size_t words) {
    const Handle x = tensor(counted(words));
    const Handle out = run(x, words);
    expect_words(out, result(counted(words)));
    client().sync();
  };
  step(20000);
  step(20000);
  const std::uint64_t before = client().report().pages_made;
  for (const std::size_t words : {100, 19000, 7000, 20000, 1, 12345}) step(words);
  if (policy() == Policy::window) {
    EXPECT_EQ(client().report().pages_made, before);
  }
  EXPECT_GE(client().report().pages_made, before);
}

TEST_P(Windows, ReportsAddUpAtEveryMoment) {
  const auto check = [&] {
    const Report report = client().report();
    expect_adds_up(report);
    if (const auto made = buffer_bytes()) {
      EXPECT_EQ(report.reserved, *made) << to_text(report);
    }
  };
  check();
  const Handle x = tensor(counted(3000));
  check();
  const Handle odd = tensor({1, 2, 3});
  client().flush();
  check();
  Handle out = run(x, 3000);
  check();
  auto result = client().read<std::uint32_t>(out);
  check();
  static_cast<void>(result.get());
  check();
  out = {};
  client().sync();
  check();
  client().trim();
  check();
  EXPECT_EQ(client().report().persistent, x.bytes() + odd.bytes());
}

TEST_P(Windows, KeepTransientsAndLongLivedTensorsOnPagesOfTheirOwn) {
  if (policy() != Policy::window) GTEST_SKIP() << "The other policies know no lifetimes.";
  const Handle x = tensor(counted(1000));
  const Handle out = run(x, 1000);
  client().sync();
  Bytes persistent = 0;
  for (const PoolReport& pool : client().report().pools) {
    if (pool.name == "persistent") persistent = pool.live;
    if (pool.name == "transient") {
      EXPECT_EQ(pool.live, 0U);
    }
  }
  EXPECT_EQ(persistent, x.bytes() + out.bytes());
}

TEST_P(Windows, ReportWhatIsHeldAndWasNotUsed) {
  const Handle forgotten = client().create(counted(100));
  const Handle named = client().zeros(800, {.label = "a named one"});
  client().flush();
  EXPECT_EQ(client().report().held_unused_bytes, 0U);
  const Handle x = tensor(counted(10));
  client().flush();
  const Report report = client().report();
  EXPECT_EQ(report.held_unused_bytes, 1200U);
  ASSERT_EQ(report.held_unused.size(), 2U);
  EXPECT_EQ(report.held_unused[0].bytes, 800U);
  EXPECT_THAT(report.held_unused[0].label, testing::HasSubstr("a named one"));
  EXPECT_THAT(report.held_unused[1].label, testing::HasSubstr("windows_test.cpp"));
}

TEST_P(Windows, TrimGivesBackIdleBytesDownToWhatIsKept) {
  {
    const Handle x = tensor(counted(100000));
    const Handle out = run(x, 100000);
    client().sync();
  }
  client().flush();
  const Report before = client().report();
  ASSERT_GT(before.reserved, 0U);
  EXPECT_EQ(client().trim(kWholeSize), 0U);
  EXPECT_EQ(client().report().reserved, before.reserved);
  const Bytes freed = client().trim(kMiB);
  EXPECT_EQ(client().report().reserved, before.reserved - freed);
  EXPECT_LE(client().report().reserved, kMiB);
  static_cast<void>(client().trim());
  EXPECT_EQ(client().report().reserved, 0U);
}

TEST_P(Windows, ThatAreDiscardedLeaveTheirOutputsFailedAndAllElseAsItWas) {
  const Handle x = tensor(counted(64));
  client().flush();
  const std::uint64_t windows = client().report().windows;
  const Handle y = empty(64, "y");
  launch_copy(x, y, 64);
  client().discard();
  EXPECT_TRUE(y.failed());
  EXPECT_FALSE(y.has_contents());
  EXPECT_THAT(error_of(ErrorCode::failed, [&] { static_cast<void>(client().read<int>(y)); }),
              testing::AllOf(testing::HasSubstr("'y'"), testing::HasSubstr("discarded")));
  const Handle z = empty(64);
  EXPECT_THAT(error_of(ErrorCode::failed, [&] { launch_copy(y, z, 64); }),
              testing::HasSubstr("binding 'x'"));
  EXPECT_EQ(client().report().windows, windows);
  launch_scale(x, y, 64, 2, 0);  // written again, it is whole again
  EXPECT_FALSE(y.failed());
  expect_words(y, counted(64, 0, 2));
  expect_words(x, counted(64));
}

TEST_P(Windows, AtMostMaxInFlightAreUnderWay) {
  Handle x = tensor(counted(256));
  for (std::uint32_t i = 0; i < 20; ++i) {
    Handle y = empty(256);
    launch_scale(x, y, 256, 1, 1);
    x = std::move(y);
    client().flush();
  }
  expect_words(x, counted(256, 20));
}

}  // namespace
}  // namespace berth::conformance
