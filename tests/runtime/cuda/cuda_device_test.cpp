// SPDX-License-Identifier: Apache-2.0
//
// Finding libraries and a device, what it says of itself, and pages.
#include <gmock/gmock.h>

#include "berth/client.hpp"
#include "runtime/cuda/cuda_fixture.hpp"
#include "runtime/cuda/cuda_runtime.hpp"
#include "runtime/cuda/cuda_table.hpp"

namespace berth::runtime::cuda_test {

using testing::HasSubstr;

TEST(Table, NamesTheFunctionThatIsMissing) {
  for (const char* missing : cuda::driver_entry_points()) {
    const auto lookup = [&](const char* name) -> void* {
      static char there = 0;
      return std::string_view(name) == missing ? nullptr : &there;
    };
    EXPECT_THAT(error_of(ErrorCode::unavailable,
                         [&] { static_cast<void>(cuda::fill_driver(lookup, "lib")); }),
                HasSubstr(missing));
  }
}

TEST(Table, AsksForTheVersionsOfTheHeader) {
  EXPECT_THAT(cuda::driver_entry_points(), testing::Contains(testing::StrEq("cuMemAlloc_v2")));
  EXPECT_THAT(cuda::driver_entry_points(),
              testing::Contains(testing::StrEq("cuGraphAddKernelNode_v2")));
}

using Device = FakeCuda;

TEST_F(Device, AMissingDriverIsOneSentence) {
  ConnectOptions options = fake_options();
  options.cuda.driver_library = "libcuda-that-is-not-there.so";
  const std::string message =
      error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_cuda(options)); });
  EXPECT_THAT(message, HasSubstr("libcuda-that-is-not-there.so"));
}

TEST_F(Device, ATableThatIsNoDriverIsRefused) {
  ConnectOptions options = fake_options();
  options.cuda.nvrtc_library = "libm.so.6";
  EXPECT_THAT(error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_cuda(options)); }),
              HasSubstr("nvrtcCompileProgram"));
}

TEST_F(Device, AMachineWithoutDevicesSaysSo) {
  fake().set_devices(0);
  EXPECT_THAT(
      error_of(ErrorCode::unavailable, [] { static_cast<void>(make_cuda(fake_options())); }),
      HasSubstr("0 CUDA device(s)"));
}

TEST_F(Device, ADriverThatDoesNotStartIsNamed) {
  fake().fail("cuInit", 1, CUDA_ERROR_NO_DEVICE);
  EXPECT_THAT(
      error_of(ErrorCode::unavailable, [] { static_cast<void>(make_cuda(fake_options())); }),
      HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST_F(Device, AStreamNeedsItsContext) {
  ConnectOptions options = fake_options();
  options.cuda.stream = fake().host_stream();
  EXPECT_THAT(error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(make_cuda(options)); }),
              HasSubstr("without its context"));
}

TEST_F(Device, GivesEverythingBackWhateverCallOfItsStartFails) {
  for (int nth = 1; nth < 100; ++nth) {
    fake().reset();
    fake().fail_any(nth, CUDA_ERROR_INVALID_VALUE);
    const int before = fake().countable_calls();
    try {
      static_cast<void>(make_cuda(fake_options()));
      EXPECT_GT(nth, 10);
      if (fake().countable_calls() - before < nth) return;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what must be given back is the test
    }
    ASSERT_EQ(fake().live(), fake_cuda::Live{}) << "call " << nth;
  }
  FAIL() << "the start makes 100 calls";
}

TEST_F(Device, SaysWhatItIs) {
  const auto backend = connect();
  const Capabilities& c = backend->capabilities();
  EXPECT_EQ(c.runtime, "cuda");
  EXPECT_EQ(c.adapter, "Fake GPU");
  EXPECT_EQ(c.target, Target::cuda);
  EXPECT_FALSE(c.exclusion);
  EXPECT_TRUE(c.copy_within_page);
  EXPECT_EQ(c.overlap, Overlap::by_hazard);
  EXPECT_EQ(c.waiting, Waiting::blocking);
  EXPECT_EQ(c.limits.offset_alignment, 16U);
  EXPECT_EQ(c.limits.max_groups_per_dimension, 65535U);
  EXPECT_EQ(c.limits.max_page_bytes, Bytes{1} << 30U);
}

TEST_F(Device, LowersItsLimits) {
  ConnectOptions options = fake_options();
  options.limits.max_page_bytes = 4096;
  options.limits.max_groups_per_dimension = 7;
  options.limits.offset_alignment = 256;
  options.limits.max_storage_bindings = 8;
  const auto backend = make_cuda(options);
  const Limits& limits = backend->capabilities().limits;
  EXPECT_EQ(limits.max_page_bytes, 4096U);
  EXPECT_EQ(limits.max_binding_bytes, 4096U);
  EXPECT_EQ(limits.max_groups_per_dimension, 7U);
  EXPECT_EQ(limits.offset_alignment, 256U);
  EXPECT_EQ(limits.max_storage_bindings, 8U);
}

TEST_F(Device, IsFoundByName) {
  std::string reason;
  for (const RuntimeInfo& info : runtimes(fake_options())) {
    if (info.name == "cuda") reason = info.why_not;
  }
  EXPECT_EQ(reason, "");
}

class DevicePages : public FakeCuda, public testing::WithParamInterface<cuda::PageWay> {
 protected:
  [[nodiscard]] static std::unique_ptr<Backend> connect() {
    return cuda::make_tuned(fake_options(), {.pages = GetParam()});
  }
};

TEST_P(DevicePages, AreCountedAndGivenBack) {
  const auto backend = connect();
  const auto made = backend->make_page({4096, memory::PageUse::storage, "a"});
  ASSERT_FALSE(made.failure);
  EXPECT_EQ(fake().live().device_bytes, 4096U);
  backend->free_page(made.page);
  EXPECT_EQ(fake().live().device_bytes, 0U);
}

TEST_P(DevicePages, ThatDoNotFitNowAreNoError) {
  fake().set_memory(1 << 20);
  const auto backend = connect();
  const auto first = backend->make_page({1 << 19, memory::PageUse::storage, "first"});
  ASSERT_FALSE(first.failure);
  const auto second = backend->make_page({(1 << 19) + 4, memory::PageUse::storage, "second"});
  ASSERT_TRUE(second.failure);
  EXPECT_EQ(second.failure->kind, memory::StorageFailure::Kind::not_now);
  EXPECT_THAT(second.failure->message, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  const auto third = backend->make_page({(1 << 20) + 4, memory::PageUse::storage, "third"});
  ASSERT_TRUE(third.failure);
  EXPECT_EQ(third.failure->kind, memory::StorageFailure::Kind::never_fits);
}

TEST_P(DevicePages, FitOnceThoseThatWereFreedInStreamOrderAreGone) {
  fake().set_memory(1 << 20);
  fake().set_work(fake_cuda::Work::held);
  const auto backend = connect();
  for (int i = 0; i < 4; ++i) {
    const auto made = backend->make_page({1 << 20, memory::PageUse::storage, "all of it"});
    ASSERT_FALSE(made.failure);
    backend->free_page(made.page);
  }
}

TEST_P(DevicePages, WhoseFillFailsAreNotKept) {
  const auto backend = connect();
  fake().fail("cuMemsetD32Async", 1, CUDA_ERROR_INVALID_VALUE);
  const auto made = backend->make_page({4096, memory::PageUse::storage, "a"});
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->kind, memory::StorageFailure::Kind::device);
  EXPECT_EQ(fake().live().device_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(From, DevicePages,
                         testing::Values(cuda::PageWay::stream_ordered, cuda::PageWay::direct),
                         [](const auto& way) {
                           return way.param == cuda::PageWay::direct ? "cuMemAlloc" : "Pool";
                         });

using StagingPages = FakeCuda;

TEST_F(StagingPages, AreMappedOnceTheSubmissionsThatUseThemAreDone) {
  const auto backend = connect();
  ProgramBuilder b;
  b.page(256);
  b.readback({0, 0, 256});
  Running run(*backend, b, 64);
  fake().set_work(fake_cuda::Work::held);
  const Submission submission = run.submission();
  run.submit();
  const memory::PageHandle page = submission.readbacks[0].page;
  backend->map(page);
  static_cast<void>(backend->poll());
  EXPECT_EQ(backend->host_state(page), HostState::mapping);
  EXPECT_THAT(error_of(ErrorCode::internal, [&] { static_cast<void>(backend->host_data(page)); }),
              HasSubstr("is not mapped"));
  fake().release_work();
  static_cast<void>(backend->poll());
  EXPECT_EQ(backend->host_state(page), HostState::mapped);
  EXPECT_NE(backend->host_data(page), nullptr);
  backend->unmap(page);
  EXPECT_EQ(backend->host_state(page), HostState::unmapped);
}

TEST_F(StagingPages, ForUploadsComeMapped) {
  const auto backend = connect();
  const auto made = backend->make_page({4096, memory::PageUse::upload, "a"});
  EXPECT_EQ(backend->host_state(made.page), HostState::mapped);
  backend->free_page(made.page);
}

}  // namespace berth::runtime::cuda_test
