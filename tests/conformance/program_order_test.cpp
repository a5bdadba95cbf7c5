// SPDX-License-Identifier: Apache-2.0
//
// The result of a window is that of its tasks one after another, in the order of the calls.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

class ProgramOrder : public Conformance {
 protected:
  void upload(const Binding& target, const Words& words) {
    client().upload(target, std::span<const std::uint32_t>(words));
  }
};
BERTH_UNDER_EVERY_POLICY(ProgramOrder);

TEST_P(ProgramOrder, AnUploadBetweenTwoKernelsIsSeenByTheSecondAndNotByTheFirst) {
  const Handle x = tensor(counted(100, 1));
  const Handle before = empty(100);
  const Handle after = empty(100);
  launch_copy(x, before, 100);
  upload(x, counted(100, 5000));
  launch_copy(x, after, 100);
  expect_words(before, counted(100, 1));
  expect_words(after, counted(100, 5000));
}

TEST_P(ProgramOrder, AnUploadOfARangeBetweenTwoKernelsStaysInOrder) {
  const Handle x = tensor(counted(100, 1));
  client().flush();
  const Handle before = empty(100);
  const Handle after = empty(100);
  launch_copy(x, before, 100);
  upload(x.slice(0, 4), {77});
  launch_copy(x, after, 100);
  Words changed = counted(100, 1);
  changed[0] = 77;
  expect_words(before, counted(100, 1));
  expect_words(after, changed);
}

TEST_P(ProgramOrder, FillsAndCopiesStayInOrderWithKernels) {
  const Handle x = tensor(counted(64, 1));
  const Handle a = empty(64);
  const Handle b = empty(64);
  launch_copy(x, a, 64);
  client().fill(x, 0);
  launch_copy(x, b, 64);
  client().copy(a, x);
  client().fill(a, 6);
  const auto result = client().read<std::uint32_t>({x, a, b});
  expect_words(result, counted(64, 1), 0);
  expect_words(result, Words(64, 6), 1);
  expect_words(result, Words(64, 0), 2);
}

TEST_P(ProgramOrder, AWholeWriteStartsANewVersionAndEarlierReadersSeeTheOldOne) {
  const Handle x = tensor(counted(100));
  std::vector<Handle> copies;
  for (std::uint32_t round = 0; round < 5; ++round) {
    copies.push_back(empty(100));
    launch_copy(x, copies.back(), 100);
    client().fill(x, round + 1000);
  }
  expect_words(copies[0], counted(100));
  for (std::uint32_t round = 1; round < 5; ++round) {
    expect_words(copies[round], Words(100, round + 999));
  }
  expect_words(x, Words(100, 1004));
}

TEST_P(ProgramOrder, AVariableMayTakeTheResultOfAFunctionOfItself) {
  Handle x = tensor(counted(100));
  Words expected = counted(100);
  for (std::uint32_t step = 1; step <= 6; ++step) {
    Handle y = empty(100);
    launch_scale(x, y, 100, 3, step);
    x = std::move(y);
    expected = scaled(expected, 3, step);
    if (step % 2 == 0) client().flush();
  }
  expect_words(x, expected);
}

TEST_P(ProgramOrder, OneTaskMayReadATensorAndOverwriteAllOfIt) {
  const Handle x = tensor(counted(100));
  launch_scale(x, x, 100, 2, 1);
  launch_scale(x, x, 100, 2, 1);
  expect_words(x, scaled(scaled(counted(100), 2, 1), 2, 1));
  launch_scale(x, x, 100, 5, 0);  // placed by an earlier window
  expect_words(x, scaled(scaled(scaled(counted(100), 2, 1), 2, 1), 5, 0));
}

TEST_P(ProgramOrder, OneTaskMayReadASliceOfATensorAndOverwriteAllOfIt) {
  const Handle x = tensor(counted(128));
  client().launch(test::products_kernel(), cover(128, kGroup), {x.slice(256, 256), x},
                  test::Products{.n = 128, .terms = 2});
  expect_words(x, counted(128, 0, 129));
}

TEST_P(ProgramOrder, PartialWritersKeepTheVersionAndWhatTheyDoNotWrite) {
  const Handle x = tensor(counted(192));
  launch_scale(tensor(counted(64, 500)), x.slice(256, 256), 64, 1, 0);
  const Handle odd = tensor(counted(192));
  const Handle b = tensor(Words(192, 7));
  client().launch(test::sparse_kernel(), cover(192, kGroup), {odd, b, b, x}, test::Count{192});
  Words expected = counted(192);
  for (std::uint32_t i = 0; i < 64; ++i) expected[64 + i] = 500 + i;
  for (std::uint32_t i = 1; i < 192; i += 2) expected[i] = 14;
  expect_words(x, expected);
}

TEST_P(ProgramOrder, SeveralWritersOfOneTensorAddUp) {
  const Handle sum = client().zeros(4 * 100);
  Words expected(100, 0);
  for (std::uint32_t k = 0; k < 5; ++k) {
    const Handle x = tensor(counted(100, k, k + 1));
    client().launch(test::accumulate_kernel(), cover(100, kGroup), {x, sum}, test::Count{100});
    for (std::uint32_t i = 0; i < 100; ++i) expected[i] += k + i * (k + 1);
  }
  client().launch(test::bump_kernel(), cover(100, kGroup), {sum}, test::Scale{3, 1, 100});
  expect_words(sum, scaled(expected, 3, 1));
}

TEST_P(ProgramOrder, ReadWriteStartsATensorWithoutContents) {
  const Handle x = empty(64);
  const Handle ones = tensor(Words(64, 1));
  client().launch(test::sparse_kernel(), cover(64, kGroup), {ones, ones, ones, x}, test::Count{64});
  expect_words(x, Words(64, 2));
}

TEST_P(ProgramOrder, AnInputAndAnOutputMayTradePlacesEachStep) {
  Handle x = tensor(counted(1000));
  Handle y = empty(1000);
  Words expected = counted(1000);
  for (std::uint32_t step = 0; step < 8; ++step) {
    launch_scale(x, y, 1000, 2, step);
    std::swap(x, y);
    client().step_end();
    expected = scaled(expected, 2, step);
  }
  expect_words(x, expected);
}

TEST_P(ProgramOrder, ABarrierUnderABranchOnABufferValueIsFine) {
  const Handle x = tensor(counted(128));
  const Handle on = tensor({1});
  const Handle off = tensor({0});
  const Handle reversed = empty(128);
  const Handle kept = empty(128);
  client().launch(test::branch_kernel(), cover(128, kGroup), {on, x, reversed}, test::Count{128});
  client().launch(test::branch_kernel(), cover(128, kGroup), {off, x, kept}, test::Count{128});
  Words expected(128);
  for (std::uint32_t i = 0; i < 128; ++i) expected[i] = i / 64 * 64 + 63 - i % 64;
  expect_words(reversed, expected);
  expect_words(kept, counted(128));
}

TEST_P(ProgramOrder, AGroupReducesThroughItsOwnMemory) {
  const Handle x = tensor(counted(1000, 1));
  const Handle sum = empty(1);
  client().launch(test::reduce_kernel(), Grid{1}, {x, sum}, test::Count{1000});
  expect_words(sum, {500500});
}

TEST_P(ProgramOrder, ALaunchOfNoWorkgroupsWritesNothing) {
  const Handle x = tensor(counted(64));
  const Handle out = tensor(Words(64, 3));
  const Report before = client().report();
  client().launch(test::copy_kernel(), Grid{0, 1, 1}, {x, out}, test::Count{64});
  client().launch(test::copy_kernel(), Grid{1, 1, 0}, {x, out}, test::Count{64});
  expect_words(out, Words(64, 3));
  EXPECT_EQ(client().report().tasks, before.tasks + 3);  // two uploads and the readback
}

TEST_P(ProgramOrder, AHandedOverHandleIsNullAndItsValueStillUsed) {
  Handle x = tensor(counted(64));
  Handle y = empty(64);
  launch_scale(std::move(x), y, 64, 2, 0);
  EXPECT_FALSE(x);  // NOLINT(bugprone-use-after-move): that is the claim
  Handle z = empty(64);
  launch_scale(std::move(y), z, 64, 2, 0);
  EXPECT_FALSE(y);  // NOLINT(bugprone-use-after-move)
  expect_words(z, counted(64, 0, 4));
}

TEST_P(ProgramOrder, AHandleDroppedBeforeTheSubmissionThatUsesItIsStillUsed) {
  for (std::uint32_t windows = 1; windows <= 4; ++windows) {
    const Handle out = client().zeros(4 * 64);
    for (std::uint32_t k = 0; k < 4; ++k) {
      const Handle temporary = tensor(Words(64, k + 1));
      client().launch(test::accumulate_kernel(), cover(64, kGroup), {temporary, out},
                      test::Count{64});
      if (k % windows == windows - 1) client().flush();
    }
    expect_words(out, Words(64, 10));
  }
}

TEST_P(ProgramOrder, ManyLaunchesWithUniformsOfTheirOwnFitOneWindow) {
  const Handle sum = tensor({0});
  std::uint32_t expected = 0;
  for (std::uint32_t k = 0; k < 400; ++k) {
    client().launch(test::bump_kernel(), Grid{1}, {sum}, test::Scale{3, k, 1});
    expected = expected * 3 + k;
  }
  expect_words(sum, {expected});
}

}  // namespace
}  // namespace berth::conformance
