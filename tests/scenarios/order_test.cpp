// SPDX-License-Identifier: Apache-2.0
//
// Program order and lifetime: handles dropped early, host writes between kernels, uploads and
// launches without end, counts made on the device.
#include <array>
#include <thread>

#include "scenario_fixture.hpp"

namespace berth::scenarios {
namespace {

constexpr std::size_t kWords = 96;

// S14: onnxruntime 27068.
TEST_F(Scenarios, S14_ASourceDroppedBeforeItsWindowIsSubmittedIsStillUsed) {
  for (std::size_t tasks = 1; tasks <= 16; ++tasks) {
    SCOPED_TRACE(tasks);
    const Handle out = client().zeros(4 * kWords);
    Words expected(kWords, 0);
    for (std::size_t i = 0; i < tasks; ++i) {
      const auto seed = static_cast<std::uint32_t>(100 * i);
      Handle source = tensor(counted(kWords, seed));
      accumulate(client(), source, out, kWords);
      expected = plus(expected, counted(kWords, seed));
      if (i % 3 == 0) std::thread([moved = std::move(source)] {}).join();
    }  // all sources are gone
    client().flush();
    expect_words(out, expected);
    client().sync();
    EXPECT_EQ(client().report().persistent, out.bytes()) << "only the result is held";
  }
}

TEST_F(Scenarios, S14_ASourcePlacedEarlierAndDroppedStaysUntilTheSubmissionThatUsesIt) {
  for (std::size_t window = 1; window <= 12; ++window) {
    SCOPED_TRACE(window);
    Handle source = tensor(counted(kWords, 11));
    client().flush();
    const Handle out = empty(kWords);
    increment(client(), source, out, kWords, 1);
    source = {};
    // Memory that is wanted before the window is closed: never the source's.
    std::vector<Handle> more;
    for (std::size_t i = 1; i < window; ++i) {
      more.push_back(empty(kWords));
      client().fill(more.back(), 0xffffffff);
    }
    expect_words(out, counted(kWords, 12));
  }
}

// S15: cubecl PRs 83, 814, 156.
TEST_F(Scenarios, S15_AHostWriteIsSeenByTheKernelsAfterItOnly) {
  // Every sequence of four of five verbs, each read at its end.
  constexpr std::size_t kVerbs = 5;
  for (std::size_t sequence = 0; sequence < kVerbs * kVerbs * kVerbs * kVerbs; ++sequence) {
    const Handle x = tensor(counted(kWords, 1));
    const Handle y = tensor(counted(kWords, 50));
    Words on_x = counted(kWords, 1);
    Words on_y = counted(kWords, 50);
    std::size_t rest = sequence;
    for (std::uint32_t step = 0; step < 4; ++step, rest /= kVerbs) {
      const std::uint32_t value = 1000 * (step + 1);
      switch (rest % kVerbs) {
        case 0:
          client().upload(x, std::span<const std::uint32_t>(counted(kWords, value)));
          on_x = counted(kWords, value);
          break;
        case 1:
          accumulate(client(), x, y, kWords);
          on_y = plus(on_y, on_x);
          break;
        case 2:
          client().upload(part(x, 5, 20), std::span<const std::uint32_t>(counted(20, value)));
          std::ranges::copy(counted(20, value), on_x.begin() + 5);
          break;
        case 3:
          client().copy(y, x);
          on_x = on_y;
          break;
        default:
          client().fill(part(y, 3, 9), value);
          std::fill_n(on_y.begin() + 3, 9, value);
          break;
      }
    }
    const auto both = client().read<std::uint32_t>({x, y});
    expect_words(both, on_x, 0);
    expect_words(both, on_y, 1);
    if (HasFailure()) FAIL() << "sequence " << sequence;
  }
}

TEST_F(Scenarios, S15_WriteKernelWriteKernelKeepsItsOrderInOneWindow) {
  const Handle x = empty(kWords);
  std::vector<Handle> seen;
  for (std::uint32_t k = 0; k < 8; ++k) {
    client().upload(x, std::span<const std::uint32_t>(counted(kWords, 10 * k)));
    seen.push_back(empty(kWords));
    increment(client(), x, seen.back(), kWords, k);
  }
  const std::uint64_t windows = client().report().windows;
  client().flush();
  EXPECT_EQ(client().report().windows, windows + 1);
  for (std::uint32_t k = 0; k < 8; ++k) expect_words(seen[k], counted(kWords, 11 * k));
}

// S17: gfx-rs/wgpu 9354, 5940, 6053.
TEST_F(Scenarios, S17_StagingStaysUnderItsBudgetOver100000UploadsWithoutAFlush) {
  ConnectOptions limited = options();
  limited.staging_budget = kMiB;
  Client own = connect(limited);
  const Handle x = own.zeros(256);
  Words data = counted(64);
  Bytes most = 0;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    data[i % 64] = i;
    own.upload(x, std::span<const std::uint32_t>(data));
    if (i % 1000 == 0) most = std::max(most, pool_of(own.report(), "upload").reserved);
  }
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, kMiB);
  expect_words(own.read<std::uint32_t>(x), data);
  EXPECT_LE(pool_of(own.report(), "upload").reserved, kMiB);
}

TEST_F(Scenarios, S17_AThousandUploadsOfMixedSizesInARowAllArrive) {
  std::vector<Handle> t;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    t.push_back(tensor(counted(1 + (i * 37) % 300, i)));
  }
  client().flush();
  for (std::uint32_t i = 0; i < 1000; i += 7) {
    expect_words(t[i], counted(1 + (i * 37) % 300, i));
  }
}

// S19: ggml's webgpu_param_arena::alloc_slot.
TEST_F(Scenarios, S19_AHundredThousandLaunchesWithUniformsFitOneWindow) {
  // SwiftShader hands each dispatch of a chain from thread to thread: minutes on a busy machine.
  const std::uint32_t launches = runtime().name == "dawn-swiftshader" ? 1000 : 100000;
  const Handle sum = tensor({0});
  std::uint32_t expected = 0;
  const std::uint64_t windows = client().report().windows;
  for (std::uint32_t k = 0; k < launches; ++k) {
    client().launch(test::bump_kernel(), Grid{1}, {sum}, test::Scale{3, k, 1});
    expected = expected * 3 + k;
  }
  EXPECT_EQ(client().report().windows, windows);
  expect_words(sum, {expected});
}

// Issue 5: "iterate until the residual is small" without reading back.
TEST_F(Scenarios, S15_WorkgroupCountsWrittenByAKernelAreThoseOfItsNextLaunch) {
  const Handle x = tensor(Words(200, 1));
  const Handle left = tensor({200});
  const Handle counts = empty(3);
  Words expected(200, 1);
  for (std::uint32_t round = 0; round < 5; ++round) {
    // The residual: 200, 100, 0, …; counts of 0 skip the rest.
    client().launch(residual_kernel(), Grid{1}, {left, counts});
    client().launch_indirect(fuzz::gated_kernel(), counts, {x}, fuzz::FuzzUniforms{round + 1, 200});
    const std::uint32_t value = round < 1 ? 100U : 0U;
    client().upload(left, std::span<const std::uint32_t>(Words{value}));
    const std::uint32_t reach = round == 0 ? 200 : round == 1 ? 128 : 0;
    for (std::uint32_t i = 0; i < reach; ++i) expected[i] += round + 1;
  }
  expect_words(x, expected);
}

}  // namespace
}  // namespace berth::scenarios
