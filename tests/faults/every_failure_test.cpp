// SPDX-License-Identifier: Apache-2.0
//
// For every n the nth storage call, and the nth entry point, of a window of 20 tasks fails. Nothing
// is submitted after an error (the judge), counts stay exact, every handle stays valid, and the
// same window succeeds once the fault is over.
#include <algorithm>

#include "faults_fixture.hpp"

namespace berth::faults {
namespace {

using memory::StorageFailure;

/// What every handle answers, whatever happened.
void expect_valid(const Work& work) {
  EXPECT_EQ(work.kept.label(), "kept");
  EXPECT_EQ(work.kept.bytes(), 4000U);
  for (const Handle& value : work.values) EXPECT_EQ(value.bytes(), 4000U);
}

/// Runs the window and reads a result. Returns: whether an error came. No other kind passes.
bool fails(Client& client, Work& work, std::initializer_list<ErrorCode> allowed) {
  try {
    record(client, work);
    client.flush();
    static_cast<void>(client.read<std::uint32_t>(work.values.back()).get());
    return false;
  } catch (const Error& error) {
    const bool expected = std::ranges::find(allowed, error.code()) != allowed.end();
    EXPECT_TRUE(expected) << name_of(error.code()) << ": " << error.what();
    return true;
  }
}

void expect_recovers(Rig& rig, Work& work, bool by_discard) {
  expect_valid(work);
  rig.expect_exact();
  if (by_discard) {
    const std::uint64_t windows = rig.client().report().windows;
    rig.client().discard();
    EXPECT_EQ(rig.client().report().windows, windows);
    for (const Handle& value : work.values) {
      if (value.has_contents()) continue;  // written before the error
      EXPECT_THROW(static_cast<void>(rig.client().read<std::uint32_t>(value)), Error);
    }
    Work again{work.kept, {}, {}, {}};
    record(rig.client(), again);
    rig.client().flush();
    expect_done(rig.client(), again);
  } else {
    work.large = {};  // drop and flush again
    rig.client().flush();
    if (work.values.size() == 19 && work.values.back().has_contents()) {
      expect_done(rig.client(), work);
    }
  }
  rig.expect_exact();
}

class NthStorageCall : public testing::TestWithParam<StorageFailure::Kind> {};

TEST_P(NthStorageCall, FailsAndTheWindowStaysWholeOrIsDiscarded) {
  bool any = false;
  for (const bool by_discard : {false, true}) {
    for (std::uint64_t n = 0;; ++n) {
      SCOPED_TRACE(testing::Message() << "storage call " << n << (by_discard ? ", discard" : ""));
      Rig rig(Rig::Expect::no_errors);
      Work work = begin(rig.client());
      rig.client().trim();  // so that pages are wanted again
      std::uint64_t calls = 0;
      // From the nth on, so that the second attempt of the library fails, too.
      rig.core().storage().set_fault(
          [&](const memory::PageRequest& request) -> std::optional<StorageFailure> {
            if (calls++ < n) return std::nullopt;
            return StorageFailure{GetParam(), request.bytes, 0, "A planted fault."};
          });
      const std::uint64_t windows = rig.client().report().windows;
      const bool failed = fails(
          rig.client(), work, {ErrorCode::out_of_memory, ErrorCode::too_large, ErrorCode::device});
      rig.core().storage().set_fault({});
      if (!failed) {
        EXPECT_LE(calls, n);
        break;
      }
      any = true;
      EXPECT_LE(rig.client().report().windows, windows + 1) << "at most the first of two";
      expect_recovers(rig, work, by_discard);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_TRUE(any);
}
INSTANTIATE_TEST_SUITE_P(Of, NthStorageCall,
                         testing::Values(StorageFailure::Kind::not_now,
                                         StorageFailure::Kind::over_budget,
                                         StorageFailure::Kind::device));

TEST(Budget, OfAnySizeIsKeptAndTheWindowFailsOrSucceedsAsAWhole) {
  std::size_t succeeded = 0;
  std::size_t failures = 0;
  for (Bytes budget = 256 * kKiB; budget <= 3 * kMiB; budget += 192 * kKiB) {
    SCOPED_TRACE(budget);
    Rig rig(Rig::Expect::no_errors, budget);
    Work work = begin(rig.client());
    if (fails(rig.client(), work, {ErrorCode::out_of_memory})) {
      ++failures;
      rig.expect_exact();
      rig.client().discard();
    } else {
      ++succeeded;
    }
    expect_valid(work);
    EXPECT_LE(rig.client().report().reserved, budget);
  }
  EXPECT_GT(succeeded, 0U);
  EXPECT_GT(failures, 0U);
}

class NthEntryPoint : public testing::TestWithParam<test::Fault::Effect> {
 protected:
  void SetUp() override {
    if (!has_library()) GTEST_SKIP() << "There are no entry points.";
  }
};

TEST_P(NthEntryPoint, FailsAndTheSameWindowSucceedsAfterwards) {
  for (const bool by_discard : {false, true}) {
    for (std::uint64_t n = 0;; ++n) {
      SCOPED_TRACE(testing::Message() << "entry point " << n << (by_discard ? ", discard" : ""));
      Rig rig(Rig::Expect::errors);
      Work work = begin(rig.client());
      test::Fault fault;
      fault.nth = n;
      fault.effect = GetParam();
      rig.table()->arm(fault);
      const bool failed = fails(
          rig.client(), work,
          {ErrorCode::out_of_memory, ErrorCode::device, ErrorCode::kernel, ErrorCode::internal});
      const bool struck = rig.table()->struck() != 0;
      rig.table()->disarm();
      if (!struck) break;
      if (failed) {
        expect_recovers(rig, work, by_discard);
      } else {
        expect_done(rig.client(), work);
      }
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_LE(Rig::take_struck_submits(), 2U) << "of the flush and of the read";
  }
}
INSTANTIATE_TEST_SUITE_P(With, NthEntryPoint, testing::Values(test::Fault::Effect::validation));

TEST(DeviceLoss, AtAnyEntryPointEndsInDeviceLostAndNothingHangs) {
  if (!has_library()) GTEST_SKIP() << "There are no entry points.";
  for (std::uint64_t n = 0;; ++n) {
    SCOPED_TRACE(testing::Message() << "lost at entry point " << n);
    Rig rig(Rig::Expect::errors);
    Work work = begin(rig.client());
    test::Fault fault;
    fault.nth = n;
    fault.effect = test::Fault::Effect::lose_device;
    rig.table()->arm(fault);
    static_cast<void>(fails(rig.client(), work, {ErrorCode::device_lost, ErrorCode::failed}));
    const bool struck = rig.table()->struck() != 0;
    if (!struck) break;
    expect_valid(work);
    EXPECT_THROW(rig.client().flush(), DeviceLost);
    EXPECT_THROW(rig.client().sync(), DeviceLost);
    EXPECT_THROW(rig.client().fill(work.kept, 1), DeviceLost);
    EXPECT_THROW(static_cast<void>(rig.client().read<std::uint32_t>(work.kept)), DeviceLost);
    EXPECT_NO_THROW(static_cast<void>(rig.client().report()));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_LE(Rig::take_struck_submits(), 2U) << "of the flush and of the read";
}

TEST(OutOfMemory, OfTheDeviceItselfIsFoundAndTheWindowGoesOnWithoutIt) {
  if (conformance::runtime_under_test().name != "dawn-swiftshader") {
    GTEST_SKIP() << "Only Dawn on SwiftShader refuses a page of 1 GiB.";
  }
  Rig rig(Rig::Expect::errors);
  Work work = begin(rig.client());
  record(rig.client(), work);
  Handle huge = rig.client().empty(kGiB, {.label = "huge"});
  rig.client().fill(huge.slice(0, 256), 1);
  EXPECT_THROW(rig.client().flush(), Error);
  rig.expect_exact();
  expect_valid(work);
  rig.client().discard();
  EXPECT_TRUE(huge.failed());
  Work again{work.kept, {}, {}, {}};
  record(rig.client(), again);
  expect_done(rig.client(), again);
}

}  // namespace
}  // namespace berth::faults
