// SPDX-License-Identifier: Apache-2.0
#include "memory/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "berth/error.hpp"
#include "support/fake_device.hpp"

namespace berth::memory {
namespace {

using Kind = StorageFailure::Kind;

constexpr std::array<PageRequest, 3> kThree{
    {{64, PageUse::storage, "a"}, {128, PageUse::upload, "b"}, {256, PageUse::uniform, "c"}}};

TEST(Storage, CountsEveryByteItMakesAndFrees) {
  test::FakeDevice device;
  Storage storage(device, kWholeSize);
  const auto made = storage.make_pages(kThree);
  ASSERT_FALSE(made.failure);
  ASSERT_EQ(made.pages.size(), 3u);
  EXPECT_EQ(storage.reserved(), 448u);
  EXPECT_EQ(storage.pages_made(), 3u);
  storage.free_page(made.pages[1], 128);
  EXPECT_EQ(storage.reserved(), 320u);
  EXPECT_EQ(device.reserved, 320u);
}

TEST(Storage, MakesNoneIfTheNthPageFails) {
  for (std::uint64_t nth = 0; nth < 3; ++nth) {
    for (const bool by_throwing : {false, true}) {
      test::FakeDevice device;
      Storage storage(device, kWholeSize);
      device.fail_at = nth;
      device.fail_by_throwing = by_throwing;
      if (by_throwing) {
        EXPECT_THROW((void)storage.make_pages(kThree), std::runtime_error);
      } else {
        const auto made = storage.make_pages(kThree);
        ASSERT_TRUE(made.failure);
        EXPECT_EQ(made.failure->kind, Kind::not_now);
        EXPECT_TRUE(made.pages.empty());
      }
      EXPECT_EQ(storage.reserved(), 0u);
      EXPECT_EQ(storage.pages_made(), 0u);
      EXPECT_TRUE(device.pages.empty());
      EXPECT_FALSE(storage.make_pages(kThree).failure) << "the same call succeeds later";
    }
  }
}

TEST(Storage, SaysNeverFitsForMoreThanTheDevicesLimitWithoutAskingIt) {
  test::FakeDevice device;
  device.max_bytes = 128;
  Storage storage(device, kWholeSize);
  const auto made = storage.make_pages(kThree);
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->kind, Kind::never_fits);
  EXPECT_EQ(made.failure->need, 256u);
  EXPECT_EQ(made.failure->limit, 128u);
  EXPECT_THAT(made.failure->message, testing::HasSubstr("256"));
  EXPECT_THAT(made.failure->message, testing::HasSubstr("128"));
  EXPECT_EQ(device.made_ever, 0u);
}

TEST(Storage, SaysOverBudgetForTheSumOfOneCall) {
  test::FakeDevice device;
  Storage storage(device, 448 + 60);
  ASSERT_FALSE(storage.make_pages(kThree).failure);
  const auto more = storage.make_pages({kThree.data(), 1});
  ASSERT_TRUE(more.failure);
  EXPECT_EQ(more.failure->kind, Kind::over_budget);
  EXPECT_EQ(more.failure->limit, 508u);
  EXPECT_THAT(more.failure->message, testing::HasSubstr("448"));
}

TEST(Storage, SumsThatDoNotFit64BitsAreOverBudget) {
  test::FakeDevice device;
  device.max_bytes = kWholeSize;
  Storage storage(device, kWholeSize);
  const std::array<PageRequest, 2> huge{{{kWholeSize - 3}, {kWholeSize - 3}}};
  const auto made = storage.make_pages(huge);
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->kind, Kind::over_budget);
  EXPECT_EQ(device.made_ever, 0u);
}

TEST(Storage, RefusesSizesThatNoDeviceMakes) {
  test::FakeDevice device;
  Storage storage(device, kWholeSize);
  for (const Bytes bytes : {Bytes{0}, Bytes{2}, Bytes{4097}}) {
    const PageRequest request{bytes};
    EXPECT_THROW((void)storage.make_pages({&request, 1}), Error) << bytes;
  }
}

TEST(Storage, FaultHookFailsInsteadOfTheDevice) {
  test::FakeDevice device;
  Storage storage(device, kWholeSize);
  int calls = 0;
  storage.set_fault([&](const PageRequest& request) -> std::optional<StorageFailure> {
    if (++calls < 2) return std::nullopt;
    return StorageFailure{Kind::device, request.bytes, 0, "planted"};
  });
  const auto made = storage.make_pages(kThree);
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->message, "planted");
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(device.pages.empty());
}

}  // namespace
}  // namespace berth::memory
