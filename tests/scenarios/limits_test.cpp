// SPDX-License-Identifier: Apache-2.0
//
// Memory that is not there, limits and the truth of the counters; and that a wrong plan is refused
// by the library itself.
#include <algorithm>

#include "berth/plan/planner.hpp"
#include "client/core.hpp"
#include "runtime/registry.hpp"
#include "scenario_fixture.hpp"

namespace berth::scenarios {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kWords = 64 * 1024;  // 256 KiB
constexpr Bytes kTensor = 4 * kWords;

struct Chain {
  std::vector<Handle> all;
};

/// Three tensors that are held, one task each.
Chain chain(Client& client, const Handle& x) {
  Chain made;
  for (std::uint32_t i = 0; i < 3; ++i) {
    made.all.push_back(client.empty(kTensor, {.label = "t" + std::to_string(i)}));
    client.launch(fuzz::increment_kernel(), cover(kWords, kGroup),
                  {i == 0 ? x : made.all[i - 1], made.all[i]},
                  fuzz::FuzzUniforms{1, std::uint32_t{kWords}});
  }
  return made;
}

// S20: mlc-ai/web-llm 356, 37, 60.
TEST_F(Scenarios, S20_WithoutMemoryAWindowFailsAsAWholeAndSaysWhatItNeeds) {
  ConnectOptions small = options();
  small.budget = 3 * kTensor;
  Client own = connect(small);
  const Handle x = own.zeros(kTensor, {.label = "x"});
  own.sync();
  const Report before = own.report();
  Chain made = chain(own, x);
  accumulate(own, made.all[0], x, kWords);  // would change what is there already
  try {
    own.flush();
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_GT(error.need(), 0U);
    EXPECT_EQ(error.budget(), 3 * kTensor);
    ASSERT_GE(error.largest().size(), 4U);
    EXPECT_EQ(error.largest()[0].bytes, kTensor);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'t0'"), HasSubstr(std::to_string(small.budget))));
  }
  EXPECT_EQ(own.report().windows, before.windows);
  EXPECT_EQ(own.report().tasks, before.tasks);
  EXPECT_LE(own.report().reserved, small.budget);
  own.discard();
  EXPECT_TRUE(made.all[0].failed());
  EXPECT_TRUE(x.failed()) << "the discarded window was to change it";
  EXPECT_THAT(
      error_of(ErrorCode::failed, [&] { static_cast<void>(own.read<std::uint32_t>(made.all[2])); }),
      HasSubstr("'t2'"));
}

// S22: gfx-rs/wgpu 7460, gpuweb 5505.
TEST_F(Scenarios, S22_TheBudgetHoldsAndWhatAWindowNeedsIsKnownBeforeAnyAllocation) {
  ConnectOptions limited = options();
  limited.budget = 6 * kTensor;
  Client own = connect(limited);
  const Handle x = own.zeros(kTensor);
  own.sync();
  const Report before = own.report();
  const auto bytes_before = buffer_bytes();
  const Chain made = chain(own, x);
  EXPECT_FALSE(own.would_fit(2 * kTensor));
  EXPECT_FALSE(own.would_fit(before.reserved + 2 * kTensor));
  ASSERT_TRUE(own.would_fit(6 * kTensor));
  EXPECT_EQ(own.report().pages_made, before.pages_made) << "asking makes nothing";
  EXPECT_EQ(buffer_bytes(), bytes_before);
  // The least budget that fits, and what is really taken.
  Bytes no = 0;
  Bytes yes = 6 * kTensor;
  while (yes - no > 4096) {
    const Bytes middle = no + (yes - no) / 2;
    (own.would_fit(middle) ? yes : no) = middle;
  }
  own.flush();
  EXPECT_LE(own.report().reserved, yes);
  expect_words(own.read<std::uint32_t>(made.all[2]), Words(kWords, 3));
  EXPECT_LE(own.report().reserved, limited.budget);
}

// S24: tfjs PR 2526, 3592, 4134.
TEST_F(Scenarios, S24_TheCountersAreTheBytesThatTheDeviceWasAskedFor) {
  const Bytes others = buffer_bytes().value_or(0);
  Client own = connect(options());
  const auto check = [&](const char* when) {
    SCOPED_TRACE(when);
    const Report report = own.report();
    expect_adds_up(report);
    if (const auto made = buffer_bytes()) {
      EXPECT_EQ(report.reserved, *made - others) << to_text(report);
    }
    const auto pools = {pool_of(report, "upload").reserved, pool_of(report, "readback").reserved};
    EXPECT_EQ(report.staging, std::min(pools) + std::max(pools));
    EXPECT_EQ(report.uniform, pool_of(report, "uniform").reserved);
  };
  check("at the beginning");
  Handle x = own.create(counted(1000), {.label = "x"});
  check("after a create");
  for (std::uint32_t round = 0; round < 6; ++round) {
    Chain made;
    {
      const Handle large = own.empty(kTensor);
      own.fill(large, round);
      made = chain(own, large);
    }
    check("recorded");
    own.flush();
    check("flushed");
    EXPECT_EQ(own.report().persistent, x.bytes() + 3 * kTensor);
    made.all[1] = {};
    own.flush();
    const auto result = own.read<std::uint32_t>(part(made.all[2], 0, 100));
    check("a read under way");
    expect_words(result, Words(100, round + 3));
    // Two slices of one tensor: a repair takes memory for a while.
    increment(own, part(x, 0, 100), part(x, 500, 100), 100, 1);
    own.flush();
    check("repaired");
  }
  x = {};
  own.sync();
  check("dropped");
  own.trim();
  check("trimmed");
  EXPECT_EQ(own.report().reserved, 0U);
}

// S32: web-llm 209, onnxruntime PR 25962, 27853.
TEST_F(Scenarios, S32_ATensorLargerThanABindingIsRefusedWholeAndWorksInSegments) {
  constexpr Bytes kLimit = 64 * kKiB;
  ConnectOptions lowered = options();
  lowered.limits.max_binding_bytes = kLimit;
  lowered.limits.offset_alignment = 256;
  Client own = connect(lowered);
  constexpr std::size_t kLarge = 50000;  // 200,000 bytes: four bindings
  const Handle x = own.create(counted(kLarge), {.label = "large"});
  own.sync();
  const Handle y = own.empty(Bytes{4} * kLarge, {.label = "result"});
  const std::uint64_t windows = own.report().windows;
  const std::string message =
      error_of(ErrorCode::too_large, [&] { increment(own, x, y, kLarge, 1); });
  EXPECT_THAT(message, AllOf(HasSubstr("large"), HasSubstr("200000"), HasSubstr("65536")));
  own.flush();
  EXPECT_EQ(own.report().windows, windows) << "nothing was recorded";
  EXPECT_FALSE(y.is_mapped());

  const std::vector<Slice> from = segments(x, kLimit);
  const std::vector<Slice> to = segments(y, kLimit);
  ASSERT_EQ(from.size(), 4U);
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].range().offset % 256, 0U);
    EXPECT_LE(from[i].range().bytes, kLimit);
    increment(own, from[i], to[i], from[i].range().bytes / 4, 1);
  }
  own.flush();
  EXPECT_EQ(own.report().last_window.repairs, 0U) << "segments are aligned";
  expect_words(own.read<std::uint32_t>(y), counted(kLarge, 1));
}

TEST_F(Scenarios, S32_ATensorLargerThanAPageIsAnErrorBeforeAnySubmission) {
  ConnectOptions lowered = options();
  lowered.limits.max_page_bytes = kMiB;
  Client own = connect(lowered);
  const Handle small = own.zeros(256, {.label = "small"});
  const Handle large = own.zeros(kMiB + 4, {.label = "large"});
  EXPECT_THAT(error_of(ErrorCode::too_large, [&] { own.flush(); }), HasSubstr("1048576"));
  EXPECT_EQ(own.report().windows, 0U);
  EXPECT_FALSE(small.is_mapped());
  own.discard();
  EXPECT_TRUE(large.failed());
}

// S35: onnxruntime PR 28679, llama.cpp PR 19850.
TEST_F(Scenarios, S35_APlanThatBreaksTheRuleIsRefusedByTheLibraryAndNeverByTheDevice) {
  if (!has_rule()) GTEST_SKIP() << "It has no rule of exclusion that a plan could break.";
  ConnectOptions plain = options();
  auto core = std::make_shared<client::Core>(plain, runtime::make_backend(plain));
  client::Seams seams;
  seams.planner = [](plan::Problem problem, const plan::Options& how) {
    problem.device.exclusion = false;  // the planted fault
    return plan::place(problem, how);
  };
  core->set_seams(seams);
  Client own(core);
  const Handle x = own.create(counted(64), {.label = "x"});
  const Handle y = own.empty(256, {.label = "y"});
  const Handle z = own.empty(256, {.label = "z"});
  increment(own, x, y, 64, 1);
  increment(own, y, z, 64, 1);
  EXPECT_THAT(error_of(ErrorCode::internal, [&] { own.flush(); }),
              AllOf(HasSubstr("wrong"), HasSubstr("not submitted")));
  EXPECT_EQ(own.report().windows, 0U);
  expect_adds_up(own.report());
  // The window is still there; a sound planner takes it.
  core->set_seams({});
  own.flush();
  expect_words(own.read<std::uint32_t>(z), counted(64, 2));
}

}  // namespace
}  // namespace berth::scenarios
