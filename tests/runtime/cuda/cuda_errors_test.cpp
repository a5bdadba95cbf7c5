// SPDX-License-Identifier: Apache-2.0
//
// Errors: each call of the driver fails once, at every place; sticky errors are a loss; nothing
// hangs, leaks or runs twice.
#include <gmock/gmock.h>

#include <numeric>

#include "runtime/cuda/cuda_fixture.hpp"

namespace berth::runtime::cuda_test {

using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr std::uint32_t kN = 64;
constexpr Bytes kBytes = Bytes{kN} * 4;

/// x = input; x = x * 2 + 1 twice; read x.
ProgramBuilder twice() {
  ProgramBuilder b;
  b.page(kBytes);
  b.upload({0, 0, kBytes, Access::write});
  for (const char* label : {"first bump", "second bump"}) {
    b.dispatch(test::bump_kernel(), {1, 1, 1}, {{0, 0, kBytes, Access::read_write}},
               test::Scale{2, 1, kN}, label);
  }
  b.readback({0, 0, kBytes});
  return b;
}
const Words kInput(kN, 5);
const Words kResult(kN, 23);

}  // namespace

class EveryCall : public FakeCuda, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(EveryCall, MayFailAndTheDeviceIsUsableAfterwardsOrLost) {
  int unharmed = 0;
  for (int nth = 1; nth < 200; ++nth) {
    fake().reset();
    for (const Kernel& kernel : test::integer_kernels()) teach(kernel);
    {
      const auto backend = connect(GetParam());
      const ProgramBuilder program = twice();
      const int before = fake().countable_calls();
      fake().fail_any(nth, CUDA_ERROR_INVALID_VALUE);
      bool failed = false;
      for (int attempt = 0; attempt < 4; ++attempt) {
        try {
          Running run(*backend, program, kN);
          for (int i = 0; i < 3; ++i) {
            run.put(0, kInput);
            run.submit();
            // Never half a result, never one computed twice.
            ASSERT_EQ(run.take(0), kResult) << "call " << nth;
          }
          break;
        } catch (const DeviceLost&) {
          failed = true;
          EXPECT_TRUE(backend->lost().has_value());
          break;
        } catch (const Error& error) {
          EXPECT_FALSE(failed) << "one failure, two errors: " << error.what();
          failed = true;
          EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
          EXPECT_FALSE(backend->lost().has_value());
        }
      }
      if (fake().countable_calls() - before < nth) ++unharmed;
    }
    ASSERT_EQ(fake().live(), fake_cuda::Live{}) << "call " << nth;
    if (unharmed > 0) return;
  }
  FAIL() << "200 calls were not enough";
}

TEST_P(EveryCall, MayBreakTheDeviceAndEverythingThrowsDeviceLost) {
  for (int nth = 1; nth < 200; ++nth) {
    fake().reset();
    for (const Kernel& kernel : test::integer_kernels()) teach(kernel);
    bool lost = false;
    {
      const auto backend = connect(GetParam());
      const ProgramBuilder program = twice();
      fake().fail_any(nth, CUDA_ERROR_ILLEGAL_ADDRESS);
      std::uint64_t submitted = 0;
      try {
        Running run(*backend, program, kN);
        for (int i = 0; i < 3; ++i) {
          run.put(0, kInput);
          submitted = run.submit().value;
          ASSERT_EQ(run.take(0), kResult) << "call " << nth;
        }
      } catch (const DeviceLost& error) {
        EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
        lost = true;
      }
      if (lost) {
        EXPECT_THAT(backend->lost(), testing::Optional(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
        EXPECT_THROW(static_cast<void>(backend->make_page({64, memory::PageUse::storage, ""})),
                     DeviceLost);
        EXPECT_THROW(backend->wait({submitted}), DeviceLost);
        EXPECT_THROW(backend->compile(test::add_kernel(), Variant::plain, 0), DeviceLost);
        static_cast<void>(backend->poll());
      }
    }
    ASSERT_EQ(fake().live().events, 0U);
    ASSERT_EQ(fake().live().graph_execs, 0U);
    fake().reset();
    if (!lost) return;
  }
  FAIL() << "200 calls were not enough";
}

std::string road_name(const testing::TestParamInfo<std::uint32_t>& road) {
  return road.param == 0 ? "OnTheStream" : road.param == 1 ? "InAGraph" : "InBoth";
}
INSTANTIATE_TEST_SUITE_P(Of, EveryCall, testing::Values(0U, 1U, 2U), road_name);

using Failure = FakeCuda;

TEST_F(Failure, OfALaunchNamesTheTask) {
  const auto backend = connect(0);
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  fake().fail("cuMemcpyHtoDAsync", 2, CUDA_ERROR_INVALID_VALUE);  // after the uniforms
  EXPECT_THAT(error_of(ErrorCode::device, [&] { run.submit(); }),
              AllOf(HasSubstr("\"upload\""), HasSubstr("CUDA_ERROR_INVALID_VALUE")));
  run.put(0, kInput);
  run.submit();
  EXPECT_EQ(run.take(0), kResult);
}

TEST_F(Failure, InTheMiddleOfAWindowIsALossSinceItCannotBeCalledBack) {
  const auto backend = connect(0);
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  fake().fail("cuLaunchKernel", 2, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error_of(ErrorCode::device_lost, [&] { run.submit(); }),
              AllOf(HasSubstr("\"second bump\""), HasSubstr("in part")));
}

TEST_F(Failure, OfAGraphLeavesTheWindowUnsubmitted) {
  const auto backend = connect(1);
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  run.put(0, kInput);
  fake().fail("cuGraphLaunch", 1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error_of(ErrorCode::device, [&] { run.submit(); }),
              HasSubstr("a submission of 4 tasks (\"upload\" to \"readback\")"));
  run.submit();
  EXPECT_EQ(run.take(0), kResult);
}

TEST_F(Failure, ToChangeAGraphLeavesNoStaleNode) {
  const auto backend = connect(1);
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  run.submit();
  run.put(0, kInput);
  fake().fail("cuGraphExecMemcpyNodeSetParams", 1, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error_of(ErrorCode::device, [&] { run.submit(); }), HasSubstr("\"upload\""));
  run.submit();
  EXPECT_EQ(run.take(0), kResult);
}

TEST_F(Failure, OfRunningWorkIsALossThatNamesTheSubmissionsUnderWay) {
  const auto backend = connect();
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  fake().set_work(fake_cuda::Work::held);
  const Ticket ticket = run.submit();
  fake().fail_work(CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(error_of(ErrorCode::device_lost, [&] { backend->wait(ticket); }),
              AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"), HasSubstr("\"upload\"")));
  EXPECT_THROW(run.submit(), DeviceLost);
  EXPECT_THROW(static_cast<void>(run.take(0)), DeviceLost);
  fake().heal();
}

TEST_F(Failure, OfRunningWorkIsSeenByAPoll) {
  const auto backend = connect();
  const ProgramBuilder program = twice();
  Running run(*backend, program, kN);
  run.submit();
  fake().fail("cuEventQuery", 1, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(backend->poll().value, 0U);
  EXPECT_TRUE(backend->lost().has_value());
  fake().heal();
}

TEST_F(Failure, ToWaitForATicketThatWasNeverGiven) {
  const auto backend = connect();
  EXPECT_THAT(error_of(ErrorCode::internal, [&] { backend->wait({3}); }),
              HasSubstr("the last submission is 0"));
}

}  // namespace berth::runtime::cuda_test
