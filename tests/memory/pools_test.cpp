// SPDX-License-Identifier: Apache-2.0
//
// Where the pools put things: sliced, exclusive, transient.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "memory/exclusive_pool.hpp"
#include "memory/sliced_pool.hpp"
#include "memory/transient_pool.hpp"
#include "support/fake_device.hpp"

namespace berth::memory {
namespace {

struct Pools : testing::Test {
  test::FakeDevice device;
  Storage storage{device, kWholeSize};
  PageTable table{storage, {.granularity = 1024, .exclusive_granularity = 256}};
  SlicedPool sliced{
      table, PoolKind::sliced, {.alignment = 256, .least_page = 1024, .most_page = 4096}};
  ExclusivePool exclusive{table};
  TransientPool transient{table};

  void TearDown() override {
    const auto broken = table.check();
    EXPECT_FALSE(broken) << broken.value_or("");
    const auto idle_list = exclusive.check();
    EXPECT_FALSE(idle_list) << idle_list.value_or("");
  }
};

using SlicedPoolTest = Pools;
using ExclusivePoolTest = Pools;
using TransientPoolTest = Pools;

TEST_F(SlicedPoolTest, ReusesAFreedSliceBeforeGrowing) {
  const Reserved a = sliced.reserve(300, {});
  const Reserved b = sliced.reserve(300, {});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.slice.page, b.slice.page);
  EXPECT_EQ(a.slice.taken, 512u);
  sliced.release(a.slice);
  const Reserved c = sliced.reserve(400, {});
  EXPECT_EQ(c.slice.page, a.slice.page);
  EXPECT_EQ(c.slice.offset, a.slice.offset);
  EXPECT_EQ(device.made_ever, 1u);
}

TEST_F(SlicedPoolTest, CountsAskedBytesAsLiveAndTheRestOfTheSliceAsPadding) {
  const Reserved a = sliced.reserve(300, {});
  const Page& page = table.at(a.slice.page);
  EXPECT_EQ(page.live(), 300u);
  EXPECT_EQ(page.padding(), 212u);
  EXPECT_EQ(page.free().free_bytes(), 512u);
}

TEST_F(SlicedPoolTest, NeverAnswersWithAnExcludedPage) {
  const Reserved a = sliced.reserve(4, {});
  const std::array excluded{a.slice.page};
  const Reserved b = sliced.reserve(4, excluded);
  ASSERT_TRUE(b.ok());
  EXPECT_NE(b.slice.page, a.slice.page);
  EXPECT_EQ(b.made, b.slice.page);
  const std::array both{a.slice.page, b.slice.page};
  const Reserved c = sliced.reserve(4, both);
  EXPECT_FALSE(contains(both, c.slice.page));
}

TEST_F(SlicedPoolTest, TakesThePageWithTheBestFit) {
  const Reserved wide = sliced.reserve(256, {});  // leaves 768 of 1024
  const std::array not_there{wide.slice.page};
  const Reserved tight = sliced.reserve(768, not_there);  // leaves 256
  const Reserved small = sliced.reserve(100, {});
  EXPECT_EQ(small.slice.page, tight.slice.page);
}

TEST_F(SlicedPoolTest, PagesGrowWithThePoolUpToAMostAndHoldWhatIsLarger) {
  std::vector<Bytes> sizes;
  for (int i = 0; i < 16; ++i) {
    const Reserved r = sliced.reserve(1024, {});
    if (r.made.valid()) sizes.push_back(table.at(r.made).bytes());
  }
  EXPECT_EQ(sizes, (std::vector<Bytes>{1024, 1024, 2048, 4096, 4096, 4096}));
  const Reserved large = sliced.reserve(9000, {});
  EXPECT_EQ(table.at(large.slice.page).bytes(), 9216u);
}

TEST_F(SlicedPoolTest, APageMadeToBeApartIsNoLargerThanThePagesThatWereFull) {
  const Reserved large = sliced.reserve(100000, {});
  const std::array excluded{large.slice.page};
  const Reserved apart = sliced.reserve(4, excluded);
  EXPECT_EQ(table.at(apart.slice.page).bytes(), 1024u);
}

TEST_F(SlicedPoolTest, MakesAPageOfTheNeededSizeIfTheGrowingOneDoesNotFit) {
  ASSERT_TRUE(sliced.reserve(4096, {}).ok());  // full
  device.memory = device.reserved + 1024;
  const Reserved second = sliced.reserve(700, {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(table.at(second.slice.page).bytes(), 1024u);
  const Reserved third = sliced.reserve(1024, {});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.failure->kind, StorageFailure::Kind::not_now);
}

TEST_F(SlicedPoolTest, APageMayBeAsLargeAsTheDeviceMakesThemThoughNoMultipleOfTheGranularity) {
  device.max_bytes = 2047;
  EXPECT_EQ(table.rounded(PoolKind::sliced, 1500), 2044u);
  EXPECT_TRUE(sliced.reserve(2044, {}).ok());
  const Reserved more = sliced.reserve(2048, {});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.failure->kind, StorageFailure::Kind::never_fits);
}

TEST_F(ExclusivePoolTest, GivesEveryTensorAPageOfItsOwnNearItsSize) {
  const Reserved a = exclusive.reserve(300, {});
  const Reserved b = exclusive.reserve(300, {});
  EXPECT_NE(a.slice.page, b.slice.page);
  EXPECT_EQ(table.at(a.slice.page).bytes(), 512u);
  EXPECT_EQ(table.at(a.slice.page).padding(), 212u);
}

TEST_F(ExclusivePoolTest, ReusesAFreedPageOfTheSameSizeFirstThenOneUpToAQuarterLarger) {
  const Reserved exact = exclusive.reserve(1024, {});
  const Reserved quarter = exclusive.reserve(1280, {});
  const Reserved twice = exclusive.reserve(2048, {});
  for (const Reserved* r : {&twice, &quarter, &exact}) exclusive.release(r->slice);
  EXPECT_EQ(exclusive.reserve(1000, {}).slice.page, exact.slice.page);
  EXPECT_EQ(exclusive.reserve(1000, {}).slice.page, quarter.slice.page);
  const Reserved fresh = exclusive.reserve(1000, {});
  EXPECT_TRUE(fresh.made.valid()) << "2048 is more than a quarter too large";
}

TEST_F(ExclusivePoolTest, PassesOverAnExcludedFreePage) {
  const Reserved a = exclusive.reserve(256, {});
  exclusive.release(a.slice);
  const std::array excluded{a.slice.page};
  const Reserved b = exclusive.reserve(256, excluded);
  EXPECT_NE(b.slice.page, a.slice.page);
}

TEST_F(TransientPoolTest, MatchesExtentsToIdlePagesSoThatTheFewestBytesAreMade) {
  //  pages   4096  2048  1024
  //  extents 1000  2000  4000 : all fit, in the order of the extents
  const std::array<Bytes, 3> first{4096, 2048, 1024};
  LentPages lent = transient.lend(first, Growth::add);
  ASSERT_TRUE(lent.ok());
  EXPECT_EQ(lent.made.size(), 3u);
  transient.give_back(lent.pages);
  const std::array<Bytes, 3> second{1000, 2000, 4000};
  const LentPages again = transient.lend(second, Growth::add);
  EXPECT_TRUE(again.made.empty());
  EXPECT_EQ(again.pages[0].page, lent.pages[2].page);
  EXPECT_EQ(again.pages[1].page, lent.pages[1].page);
  EXPECT_EQ(again.pages[2].page, lent.pages[0].page);
  EXPECT_EQ(table.at(again.pages[0].page).live(), 1000u);
  EXPECT_EQ(table.at(again.pages[0].page).padding(), 24u);
}

TEST_F(TransientPoolTest, LendsNoPageTwice) {
  const std::array<Bytes, 1> extent{512};
  const LentPages a = transient.lend(extent, Growth::add);
  const LentPages b = transient.lend(extent, Growth::add);
  EXPECT_NE(a.pages[0].page, b.pages[0].page);
  EXPECT_FALSE(transient.try_lend(a.pages));
  transient.give_back(a.pages);
  EXPECT_TRUE(transient.try_lend(a.pages));
}

TEST_F(TransientPoolTest, LendsAPreparedProgramsPagesAllOrNone) {
  const std::array<Bytes, 2> extents{512, 2000};
  const LentPages a = transient.lend(extents, Growth::add);
  transient.give_back(a.pages);
  const std::array<Lent, 2> second_busy{a.pages[0], a.pages[1]};
  ASSERT_TRUE(transient.try_lend({&a.pages[1], 1}));
  EXPECT_FALSE(transient.try_lend(second_busy));
  EXPECT_TRUE(table.at(a.pages[0].page).idle()) << "nothing changed";
}

TEST_F(TransientPoolTest, MakesNothingIfNotAllPagesCanBeMade) {
  const std::array<Bytes, 3> extents{512, 2000, 4000};
  device.fail_at = 2;
  const LentPages lent = transient.lend(extents, Growth::add);
  ASSERT_FALSE(lent.ok());
  EXPECT_TRUE(lent.pages.empty());
  EXPECT_TRUE(device.pages.empty());
}

TEST_F(TransientPoolTest, NamesTheSmallIdlePagesThatLargerOnesReplace) {
  const std::array<Bytes, 2> small{1024, 2048};
  const LentPages a = transient.lend(small, Growth::replace);
  EXPECT_TRUE(a.replaced.empty());
  transient.give_back(a.pages);
  const std::array<Bytes, 1> large{3000};
  const LentPages b = transient.lend(large, Growth::replace);
  EXPECT_EQ(b.replaced, (std::vector<PageId>{a.pages[0].page, a.pages[1].page}));
}

/// The fewest bytes of new pages over all ways to give pages to extents.
Bytes fewest_made(std::vector<Bytes> extents, std::vector<Bytes> pages) {
  if (extents.empty()) return 0;
  const Bytes extent = extents.back();
  extents.pop_back();
  Bytes best = align_up(extent, 1024) + fewest_made(extents, pages);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] < extent) continue;
    std::vector<Bytes> rest = pages;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    best = std::min(best, fewest_made(extents, rest));
  }
  return best;
}

RC_GTEST_PROP(TransientPool, NoMatchingMakesFewerBytes, ()) {
  test::FakeDevice device;
  Storage storage(device, kWholeSize);
  PageTable table(storage, {.granularity = 1024});
  TransientPool pool(table);
  const auto small_list = [] {
    std::vector<Bytes> sizes(static_cast<std::size_t>(*rc::gen::inRange(0, 6)));
    for (Bytes& size : sizes) size = static_cast<Bytes>(*rc::gen::inRange(1, 6000));
    return sizes;
  };
  const std::vector<Bytes> before = small_list();
  const LentPages first = pool.lend(before, Growth::add);
  std::vector<Bytes> pages;
  pages.reserve(first.pages.size());
  for (const Lent& lent : first.pages) pages.push_back(table.at(lent.page).bytes());
  pool.give_back(first.pages);
  const Bytes reserved = storage.reserved();
  const std::vector<Bytes> extents = small_list();
  const LentPages lent = pool.lend(extents, Growth::add);
  RC_ASSERT(storage.reserved() - reserved == fewest_made(extents, pages));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    RC_ASSERT(table.at(lent.pages[i].page).bytes() >= extents[i]);
  }
  RC_ASSERT(!table.check());
}

}  // namespace
}  // namespace berth::memory
