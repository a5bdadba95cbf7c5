// SPDX-License-Identifier: Apache-2.0
//
// Staging and uniform pages go round as a whole. The fake device throws if a page enters a
// submission while the host has it, or is written while the device has it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <deque>

#include "berth/error.hpp"
#include "memory/readback_pool.hpp"
#include "memory/uniform_pool.hpp"
#include "memory/upload_pool.hpp"
#include "support/fake_device.hpp"

namespace berth::memory {
namespace {

using Status = Staged::Status;

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed) * 7) & 255);
  }
  return data;
}

struct Staging : testing::Test {
  test::FakeDevice device;
  Storage storage{device, kWholeSize};
  PageTable table{storage, {.granularity = 1024}};
  UploadPool upload{table, device, {.budget = 4096, .least_page = 1024, .most_page = 2048}};
  ReadbackPool readback{table, device, {.least_page = 1024, .most_page = 2048}};
  UniformPool uniform{table, device, {.alignment = 256, .least_page = 1024, .most_page = 2048}};

  [[nodiscard]] PageHandle handle(const Slice& slice) { return table.at(slice.page).handle(); }
  void submit_uploads(const std::vector<Slice>& staged, std::uint64_t ticket) {
    upload.close(staged);
    for (const Slice& slice : staged) device.use(handle(slice), ticket);
    upload.submitted(staged);
  }
  void TearDown() override {
    for (const auto& broken : {table.check(), upload.check(), readback.check()}) {
      EXPECT_FALSE(broken) << broken.value_or("");
    }
  }
};

using UploadPoolTest = Staging;
using ReadbackPoolTest = Staging;
using UniformPoolTest = Staging;

TEST_F(UploadPoolTest, CopiesTheDataAtTheCall) {
  std::vector<std::byte> data = pattern(100, 1);
  const Staged staged = upload.write(data);
  ASSERT_EQ(staged.status, Status::ready);
  const std::vector<std::byte> expected = data;
  std::ranges::fill(data, std::byte{0});
  EXPECT_EQ(std::memcmp(device.data(handle(staged.slice)) + staged.slice.offset, expected.data(),
                        expected.size()),
            0);
  upload.discard({&staged.slice, 1});
}

TEST_F(UploadPoolTest, FillsAPageBeforeItMakesAnother) {
  std::vector<Slice> staged;
  staged.reserve(5);
  for (int i = 0; i < 4; ++i) staged.push_back(upload.write(pattern(200, i)).slice);
  EXPECT_EQ(device.made_ever, 1u);
  EXPECT_EQ(upload.pending_bytes(), 800u);
  EXPECT_EQ(table.at(staged[0].page).live(), 800u);
  EXPECT_EQ(table.at(staged[0].page).padding(), 24u) << "three gaps of 8 to a multiple of 16";
  staged.push_back(upload.write(pattern(600, 5)).slice);
  EXPECT_EQ(device.made_ever, 2u);
  submit_uploads(staged, 1);
  EXPECT_EQ(upload.pending_bytes(), 0u);
}

TEST_F(UploadPoolTest, APageComesBackOnceItsSubmissionIsDone) {
  const Staged a = upload.write(pattern(1000, 1));
  submit_uploads({a.slice}, 1);
  const Staged b = upload.write(pattern(1000, 2));
  EXPECT_NE(b.slice.page, a.slice.page) << "in flight";
  submit_uploads({b.slice}, 2);
  device.done = 1;
  const Staged c = upload.write(pattern(1000, 3));
  EXPECT_EQ(c.slice.page, a.slice.page);
  upload.discard({&c.slice, 1});
}

TEST_F(UploadPoolTest, APageWithDataOfTwoWindowsComesBackAfterTheSecond) {
  const Staged a = upload.write(pattern(100, 1));
  const Staged b = upload.write(pattern(100, 2));
  ASSERT_EQ(a.slice.page, b.slice.page);
  submit_uploads({a.slice}, 1);
  device.done = 1;
  const Staged c = upload.write(pattern(100, 3));
  EXPECT_NE(c.slice.page, a.slice.page) << "b is still to be submitted from there";
  submit_uploads({b.slice}, 2);
  EXPECT_FALSE(device.mapped(handle(b.slice)));
  device.done = 2;
  upload.pump();
  EXPECT_TRUE(table.at(b.slice.page).idle());
  upload.discard({&c.slice, 1});
}

TEST_F(UploadPoolTest, StagedDataSurvivesAFailedSubmission) {
  const Staged a = upload.write(pattern(100, 1));
  upload.close({&a.slice, 1});
  upload.close({&a.slice, 1});  // the window is submitted again
  device.use(handle(a.slice), 1);
  upload.submitted({&a.slice, 1});
  EXPECT_THROW(upload.submitted({&a.slice, 1}), Error) << "twice";
}

TEST_F(UploadPoolTest, DiscardedDataIsPaddingUntilThePageIsEmpty) {
  const Staged a = upload.write(pattern(100, 1));
  const Staged b = upload.write(pattern(100, 2));
  upload.discard({&a.slice, 1});
  const Page& page = table.at(a.slice.page);
  EXPECT_EQ(page.live(), 100u);
  EXPECT_EQ(page.padding(), 112u);
  EXPECT_FALSE(upload.check());
  upload.discard({&b.slice, 1});
  EXPECT_TRUE(page.idle());
  EXPECT_EQ(upload.write(pattern(1024, 3)).slice.offset, 0u) << "all of the page again";
}

TEST_F(UploadPoolTest, SaysMustWaitAtItsBudgetAndSubmittingThenWaitingHelps) {
  std::vector<Slice> staged;
  Staged next;
  while ((next = upload.write(pattern(1000, 1))).status == Status::ready) {
    staged.push_back(next.slice);
  }
  EXPECT_EQ(next.status, Status::must_wait);
  EXPECT_LE(table.reserved(PoolKind::upload), 4096u);
  EXPECT_FALSE(upload.wait_for_room()) << "nothing is on its way: submit first";
  submit_uploads(staged, 1);
  EXPECT_EQ(upload.write(pattern(1000, 1)).status, Status::must_wait);
  EXPECT_TRUE(upload.wait_for_room());
  EXPECT_EQ(upload.write(pattern(1000, 1)).status, Status::ready);
}

TEST_F(UploadPoolTest, EmptySmallPagesMakeWayForTheLargestPiece) {
  std::vector<Slice> staged;
  staged.reserve(3);
  for (int i = 0; i < 3; ++i) staged.push_back(upload.write(pattern(1000, i)).slice);
  submit_uploads(staged, 1);
  device.done = 1;
  EXPECT_EQ(upload.largest_piece(), 4096u);
  const Staged large = upload.write(pattern(4096, 1));
  ASSERT_EQ(large.status, Status::ready);
  EXPECT_EQ(table.pages(PoolKind::upload).size(), 1u);
  const Staged too_large = upload.write(pattern(4100, 1));
  ASSERT_EQ(too_large.status, Status::failed);
  EXPECT_EQ(too_large.failure->kind, StorageFailure::Kind::never_fits);
}

TEST_F(UploadPoolTest, FailsWithTheStoragesReason) {
  device.fail_at = 0;
  const Staged staged = upload.write(pattern(4, 1));
  ASSERT_EQ(staged.status, Status::failed);
  EXPECT_EQ(staged.failure->kind, StorageFailure::Kind::not_now);
  EXPECT_EQ(upload.write(pattern(4, 1)).status, Status::ready);
}

TEST_F(UploadPoolTest, StagingStaysWithinItsBudgetOver100000Uploads) {
  std::uint64_t ticket = 0;
  std::vector<Slice> staged;
  const std::vector<std::byte> data = pattern(64, 1);
  for (int i = 0; i < 100000; ++i) {
    Staged next = upload.write(data);
    while (next.status == Status::must_wait) {
      submit_uploads(std::exchange(staged, {}), ++ticket);
      ASSERT_TRUE(upload.wait_for_room());
      next = upload.write(data);
    }
    ASSERT_EQ(next.status, Status::ready);
    staged.push_back(next.slice);
  }
  EXPECT_LE(device.reserved, 4096u);
  EXPECT_LE(device.made_ever, 4u);
  submit_uploads(staged, ++ticket);
}

TEST_F(ReadbackPoolTest, ResultsOfOneSubmissionShareAPageAndOfTwoDoNot) {
  const Reserved a = readback.reserve(100);
  const Reserved b = readback.reserve(100);
  EXPECT_EQ(a.slice.page, b.slice.page);
  device.use(handle(a.slice), 1);
  readback.seal();
  const Reserved c = readback.reserve(100);
  EXPECT_NE(c.slice.page, a.slice.page);
  EXPECT_FALSE(readback.ready(a.slice));
  device.done = 1;
  EXPECT_TRUE(readback.ready(a.slice));
  EXPECT_EQ(readback.data(a.slice).size(), 100u);
  EXPECT_NE(readback.data(a.slice).data(), readback.data(b.slice).data());
  EXPECT_THROW((void)readback.data(c.slice), Error) << "not submitted";
  readback.cancel(c.slice);
}

TEST_F(ReadbackPoolTest, APageIsFreeAgainOnceAllItsResultsAreReleased) {
  const Reserved a = readback.reserve(100);
  const Reserved b = readback.reserve(100);
  device.use(handle(a.slice), 1);
  readback.seal();
  readback.wait(a.slice);
  readback.release(a.slice);
  EXPECT_TRUE(readback.ready(b.slice)) << "b is still read";
  readback.release(b.slice);
  const Reserved c = readback.reserve(1000);
  EXPECT_EQ(c.slice.page, a.slice.page);
  EXPECT_EQ(device.made_ever, 1u);
  readback.cancel(c.slice);
  EXPECT_TRUE(table.at(c.slice.page).idle());
}

TEST_F(ReadbackPoolTest, AResultMayBeDroppedBeforeItIsReady) {
  const Reserved a = readback.reserve(100);
  device.use(handle(a.slice), 1);
  readback.seal();
  readback.release(a.slice);
  EXPECT_FALSE(table.at(a.slice.page).idle()) << "the device still writes it";
  device.done = 1;
  readback.pump();
  EXPECT_TRUE(table.at(a.slice.page).idle());
  const Reserved b = readback.reserve(100);
  EXPECT_EQ(b.slice.page, a.slice.page);
  readback.cancel(b.slice);
}

TEST_F(UniformPoolTest, ARangeIsUsedAgainWhenItsTicketIsDone) {
  const Reserved a = uniform.reserve(1024);
  uniform.submitted(a.slice, 1);
  const Reserved b = uniform.reserve(1000);
  EXPECT_NE(b.slice.page, a.slice.page);
  uniform.submitted(b.slice, 2);
  device.done = 1;
  const Reserved c = uniform.reserve(100);
  EXPECT_EQ(c.slice.page, a.slice.page);
  EXPECT_EQ(c.slice.offset, a.slice.offset);
  uniform.cancel(c.slice);
  device.done = 2;
  uniform.pump();
  EXPECT_TRUE(table.at(a.slice.page).idle());
  EXPECT_TRUE(table.at(b.slice.page).idle());
}

TEST_F(UniformPoolTest, RangesAreAlignedAndTheirRestIsPadding) {
  const Reserved a = uniform.reserve(20);
  const Reserved b = uniform.reserve(20);
  EXPECT_EQ(a.slice.offset % 256, 0u);
  EXPECT_EQ(b.slice.offset % 256, 0u);
  EXPECT_EQ(table.at(a.slice.page).live(), 40u);
  EXPECT_EQ(table.at(a.slice.page).padding(), 512u - 40u);
}

TEST_F(UniformPoolTest, AWindowOf100000LaunchesGetsAPageLargeEnough) {
  const Reserved a = uniform.reserve(Bytes{100000} * 256);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.slice.bytes, Bytes{100000} * 256);
}

RC_GTEST_PROP(UploadPool, ArrivesWholeInAnyInterleavingOfWindows, ()) {
  test::FakeDevice device;
  Storage storage(device, kWholeSize);
  PageTable table(storage, {.granularity = 1024});
  UploadPool upload(table, device, {.budget = 8192, .least_page = 1024, .most_page = 2048});
  struct Window {
    std::vector<Slice> staged;
    std::vector<int> seeds;
  };
  std::array<Window, 2> open;  // two streams
  std::uint64_t ticket = 0;
  int seed = 0;
  // What the device would copy: the staged bytes as they are at the submission.
  const auto submit = [&](Window& window) {
    upload.close(window.staged);
    ++ticket;
    for (std::size_t i = 0; i < window.staged.size(); ++i) {
      const Slice& slice = window.staged[i];
      const PageHandle page = table.at(slice.page).handle();
      device.use(page, ticket);
      const auto expected = pattern(slice.bytes, window.seeds[i]);
      RC_ASSERT(std::memcmp(device.at(page).data.data() + slice.offset, expected.data(),
                            expected.size()) == 0);
    }
    upload.submitted(window.staged);
    window = {};
  };
  const auto steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    Window& window = open[*rc::gen::element<std::size_t>(0, 1)];
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        submit(window);
        break;
      case 1:
        upload.discard(window.staged);
        window = {};
        break;
      case 2:
        device.done = std::max(device.done, std::min(ticket, device.done + 1));
        break;
      default: {
        const auto bytes = static_cast<std::size_t>(*rc::gen::inRange(1, 700)) * 4;
        ++seed;
        Staged next = upload.write(pattern(bytes, seed));
        if (next.status == Status::must_wait) {
          submit(open[0]);
          submit(open[1]);
          while (next.status == Status::must_wait) {
            RC_ASSERT(upload.wait_for_room());
            next = upload.write(pattern(bytes, seed));
          }
        }
        RC_ASSERT(next.status == Status::ready);
        window.staged.push_back(next.slice);
        window.seeds.push_back(seed);
      }
    }
    const auto broken = upload.check();
    RC_ASSERT(broken.value_or("") == "");
    RC_ASSERT(table.check().value_or("") == "");
  }
  RC_ASSERT(!device.freed_in_use);
}

}  // namespace
}  // namespace berth::memory
