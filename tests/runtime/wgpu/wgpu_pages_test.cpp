// SPDX-License-Identifier: Apache-2.0
//
// Pages: the kinds of failure, and who owns a staging page when.
#include <gtest/gtest.h>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"

namespace berth::runtime::wgpu_test {
namespace {

using memory::PageUse;
using Kind = memory::StorageFailure::Kind;

class WgpuPages : public testing::TestWithParam<TestDevice> {
 protected:
  void SetUp() override { backend = connect(GetParam()); }
  std::unique_ptr<Backend> backend;
};

TEST_P(WgpuPages, OneAboveTheDevicesLimitNeverFits) {
  const Bytes limit = backend->max_page_bytes();
  const auto made = backend->make_page({limit + 4, PageUse::storage, "colossus"});
  ASSERT_TRUE(made.failure.has_value());
  EXPECT_FALSE(made.page.valid());
  EXPECT_EQ(made.failure->kind, Kind::never_fits);
  EXPECT_EQ(made.failure->need, limit + 4);
  EXPECT_EQ(made.failure->limit, limit);
  EXPECT_NE(made.failure->message.find("colossus"), std::string::npos);
}

TEST_P(WgpuPages, HandlesAreNotUsedTwice) {
  const auto first = make_page(*backend, 256);
  backend->free_page(first);
  const auto second = make_page(*backend, 256);
  EXPECT_NE(first, second);
  backend->free_page(first);  // a second time: nothing happens to the page in its place
  backend->free_page(second);
}

TEST_P(WgpuPages, AnUploadPageComesMappedAndGoesRound) {
  const auto page = make_page(*backend, 1024, PageUse::upload);
  EXPECT_EQ(backend->host_state(page), HostState::mapped);
  std::byte* data = backend->host_data(page);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(backend->host_data(page), data);
  std::memset(data, 1, 1024);
  backend->unmap(page);
  EXPECT_EQ(backend->host_state(page), HostState::unmapped);
  error_of(ErrorCode::internal, [&] { static_cast<void>(backend->host_data(page)); });
  error_of(ErrorCode::internal, [&] { backend->unmap(page); });
  backend->map(page);
  EXPECT_NE(backend->host_state(page), HostState::unmapped);
  error_of(ErrorCode::internal, [&] { backend->map(page); });
  backend->wait_mapped(page);
  EXPECT_EQ(backend->host_state(page), HostState::mapped);
  EXPECT_NE(backend->host_data(page), nullptr);
}

TEST_P(WgpuPages, AStoragePageIsNeverMapped) {
  const auto page = make_page(*backend, 1024);
  EXPECT_EQ(backend->host_state(page), HostState::unmapped);
  error_of(ErrorCode::internal, [&] { backend->map(page); });
  error_of(ErrorCode::internal, [&] { backend->wait_mapped(page); });
}

TEST_P(WgpuPages, AMappedStagingPageEntersNoSubmission) {
  ProgramBuilder b;
  const auto x = b.page(256);
  b.upload({x, 0, 256});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const HostSlice source{make_page(*backend, 256, PageUse::upload), 0};
  Submission submission;
  submission.uploads = {&source, 1};
  error_of(ErrorCode::internal, [&] { static_cast<void>(backend->encode(*prepared, submission)); });
  backend->unmap(source.page);
  auto encoded = backend->encode(*prepared, submission);
  backend->map(source.page);  // between encode and submit
  error_of(ErrorCode::internal, [&] { static_cast<void>(backend->submit(std::move(encoded))); });
  backend->wait_mapped(source.page);
  backend->unmap(source.page);
  backend->wait(submit(*backend, *prepared, submission));
}

TEST_P(WgpuPages, AMapOfAPageInUseComesAfterItsSubmission) {
  ProgramBuilder b;
  const auto x = b.page(8 * kMiB);
  const auto y = b.page(8 * kMiB);
  b.upload({x, 0, 256});
  for (int i = 0; i < 4; ++i) b.copy({x, 0, 8 * kMiB}, {y, 0, 8 * kMiB});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const HostSlice source{staged(*backend, std::vector<float>(64, 1.0F)), 0};
  Submission submission;
  submission.uploads = {&source, 1};
  const Ticket ticket = submit(*backend, *prepared, submission);
  backend->map(source.page);
  backend->wait_mapped(source.page);
  EXPECT_EQ(backend->host_state(source.page), HostState::mapped);
  backend->wait(ticket);
}

TEST_P(WgpuPages, AMappingPageMayBeFreed) {
  const auto page = make_page(*backend, 256, PageUse::readback);
  backend->map(page);
  backend->free_page(page);
  static_cast<void>(backend->poll());
}

INSTANTIATE_TEST_SUITE_P(Devices, WgpuPages, testing::ValuesIn(all_targets()),
                         [](const auto& p) { return name_of_target(p.param); });

TEST(WgpuPagesSwiftShader, AreNotNowWhenTheDeviceRunsOutAndItLivesOn) {
  const auto backend = connect(dawn_swiftshader());
  const auto made = backend->make_page({kGiB, PageUse::storage, "all of it"});
  ASSERT_TRUE(made.failure.has_value());
  EXPECT_EQ(made.failure->kind, Kind::not_now) << made.failure->message;
  EXPECT_EQ(made.failure->need, kGiB);
  const auto small = backend->make_page({kMiB, PageUse::storage, "some"});
  EXPECT_TRUE(small.page.valid());
}

WGPUBuffer fail_like_wgpu_native(WGPUDevice device, const WGPUBufferDescriptor* /*wanted*/) {
  // Not a real exhaustion, which takes gigabytes: a Validation error, as wgpu-native reports it.
  static const platform::DynamicLibrary kLibrary{std::string(native_lavapipe().library)};
  const auto real =
      reinterpret_cast<WGPUProcDeviceCreateBuffer>(kLibrary.symbol("wgpuDeviceCreateBuffer"));
  WGPUBufferDescriptor bad{};
  bad.size = 3;
  bad.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_MapWrite;
  return real(device, &bad);
}

TEST(WgpuPagesNative, AValidationErrorForARightRequestMeansNotNow) {
  PatchedTable table(native_lavapipe());
  table.patch("wgpuDeviceCreateBuffer", &fail_like_wgpu_native);
  const auto backend = make_wgpu(table.options());
  const auto made = backend->make_page({kMiB, PageUse::storage, "modest"});
  ASSERT_TRUE(made.failure.has_value());
  EXPECT_EQ(made.failure->kind, Kind::not_now) << made.failure->message;
}

}  // namespace
}  // namespace berth::runtime::wgpu_test
