// SPDX-License-Identifier: Apache-2.0
#include "memory/manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <sstream>

#include "berth/error.hpp"
#include "support/fake_device.hpp"

namespace berth::memory {
namespace {

ManagerOptions small_pages(PoolKind mapped_to = PoolKind::sliced) {
  ManagerOptions options;
  options.mapped_to = mapped_to;
  options.pages = {.granularity = 1024, .exclusive_granularity = 256};
  options.sliced = {.alignment = 256, .least_page = 1024, .most_page = 4096};
  options.staging = {.budget = 8192, .least_page = 1024, .most_page = 2048};
  options.readback = {.least_page = 1024, .most_page = 2048};
  options.uniform = {.least_page = 1024, .most_page = 2048};
  return options;
}

/// Everything that can be seen of a manager, but for page ids that exist no more.
std::string picture(const Manager& manager, std::span<const TensorSlot> tensors) {
  std::ostringstream out;
  for (std::size_t pool = 0; pool < kPoolKinds; ++pool) {
    for (const Page* page : manager.pages(static_cast<PoolKind>(pool))) {
      out << name_of(page->pool()) << " page " << page->id().value << ": " << page->bytes()
          << " bytes, live " << page->live() << ", padding " << page->padding() << ", tenants "
          << page->tenants() << ", free";
      for (const Range& range : page->free().ranges()) {
        out << " [" << range.offset << ", " << range.end() << ")";
      }
      out << "\n";
    }
  }
  for (const TensorSlot tensor : tensors) {
    const auto& place = manager.place_of(tensor);
    out << "tensor " << tensor.value << ": " << manager.bytes_of(tensor);
    if (place) out << " on " << place->page.value << " at " << place->offset;
    out << "\n";
  }
  return out.str();
}

struct ManagerTest : testing::Test {
  test::FakeDevice device;
  Storage storage{device, kWholeSize};
  Manager manager{storage, device, small_pages()};

  void expect_well(std::size_t anonymous = 0) {
    const auto broken = manager.check(anonymous);
    EXPECT_FALSE(broken) << broken.value_or("");
    Bytes sum = 0;
    for (const PoolReport& report : manager.reports()) {
      EXPECT_EQ(report.live + report.idle + report.padding, report.reserved) << report.name;
      sum += report.reserved;
    }
    EXPECT_EQ(sum, storage.reserved());
    EXPECT_EQ(sum, device.reserved);
    EXPECT_FALSE(device.freed_in_use);
  }
  void TearDown() override { expect_well(); }
};

TEST_F(ManagerTest, ATensorHasNoMemoryUntilItIsMapped) {
  const TensorSlot tensor = manager.add(100);
  EXPECT_FALSE(manager.place_of(tensor));
  EXPECT_EQ(device.made_ever, 0u);
  const Reserved mapped = manager.map(tensor, {});
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(manager.place_of(tensor), mapped.slice);
  EXPECT_THROW((void)manager.map(tensor, {}), Error) << "twice";
  manager.unmap(tensor);
  EXPECT_FALSE(manager.place_of(tensor));
  manager.unmap(tensor);
  manager.drop(tensor);
  EXPECT_THROW((void)manager.place_of(tensor), Error);
  EXPECT_EQ(manager.add(4), tensor) << "the slot serves again";
}

// The seed's case: out is mapped when the task that zeroes it is registered, and again avoided are
// the pages of a, b and c, which the next task only reads.
TEST_F(ManagerTest, MapsNeverToAnExcludedPage) {
  const TensorSlot a = manager.add(100);
  const TensorSlot b = manager.add(100);
  const TensorSlot out = manager.add(100);
  const PageId inputs = manager.map(a, {}).slice.page;
  EXPECT_EQ(manager.map(b, {}).slice.page, inputs);
  const std::array excluded{inputs};
  EXPECT_NE(manager.map(out, excluded).slice.page, inputs);
}

TEST_F(ManagerTest, MapsToAPageOfItsOwnUnderThePolicyExclusive) {
  test::FakeDevice other;
  Storage other_storage(other, kWholeSize);
  Manager exclusive(other_storage, other, small_pages(PoolKind::exclusive));
  const TensorSlot a = exclusive.add(100);
  const TensorSlot b = exclusive.add(100);
  EXPECT_NE(exclusive.map(a, {}).slice.page, exclusive.map(b, {}).slice.page);
  EXPECT_EQ(exclusive.check().value_or(""), "");
}

TEST_F(ManagerTest, SetsThePlacesOfAPlan) {
  const std::array wanted{NewPage{PoolKind::persistent, 900}};
  const MadePages made = manager.make_pages(wanted);
  ASSERT_TRUE(made.ok());
  const PageId page = made.pages[0];
  EXPECT_EQ(manager.find(page)->bytes(), 1024u);
  EXPECT_TRUE(manager.find(page)->idle());
  const TensorSlot a = manager.add(100);
  const TensorSlot b = manager.add(644);
  manager.set_place(a, page, 0, 256);
  manager.set_place(b, page, 256, 256);
  EXPECT_EQ(manager.place_of(a), (Slice{page, 0, 100, 256}));
  EXPECT_EQ(manager.place_of(b), (Slice{page, 256, 644, 768}));
  const TensorSlot c = manager.add(4);
  EXPECT_THROW(manager.set_place(c, page, 100, 4), Error) << "padding of a";
  EXPECT_THROW(manager.set_place(c, page, 1024, 4), Error) << "outside";
  EXPECT_THROW(manager.set_place(c, PageId{77}, 0, 4), Error) << "no such page";
  EXPECT_THROW(manager.set_place(a, page, 0, 4), Error) << "mapped already";
  EXPECT_FALSE(manager.place_of(c));
}

TEST_F(ManagerTest, PlacesNothingOnTransientOrExclusivePages) {
  const TensorSlot tensor = manager.add(4);
  const std::array<Bytes, 1> extent{100};
  const LentPages lent = manager.lend(extent);
  EXPECT_THROW(manager.set_place(tensor, lent.pages[0].page, 0), Error);
  const Reserved own = manager.reserve(4, PoolKind::exclusive);
  EXPECT_THROW(manager.set_place(tensor, own.slice.page, 0), Error);
  manager.release(own.slice);
  const std::array wrong{NewPage{PoolKind::transient, 4}};
  EXPECT_THROW((void)manager.make_pages(wrong), Error);
}

TEST_F(ManagerTest, ThePlaceOfADyingTensorServesANewOneInTheSameWindow) {
  const TensorSlot dying = manager.add(1024);
  const Slice place = manager.map(dying, {}).slice;
  const TensorSlot fresh = manager.add(512);
  const std::array both{dying, fresh};
  const std::string before = picture(manager, both);
  {
    Transaction window(manager);
    manager.unmap(dying);
    manager.set_place(fresh, place.page, 0);
    expect_well();
  }
  EXPECT_EQ(picture(manager, both), before) << "rolled back";
  {
    Transaction window(manager);
    manager.unmap(dying);
    manager.set_place(fresh, place.page, 0);
    window.commit();
  }
  EXPECT_FALSE(manager.place_of(dying));
  EXPECT_EQ(manager.place_of(fresh)->page, place.page);
}

TEST_F(ManagerTest, AWindowThatFailsAtItsNthPageLeavesNoTrace) {
  const TensorSlot old = manager.add(600);
  ASSERT_TRUE(manager.map(old, {}).ok());
  const std::array seen{old};
  const std::string before = picture(manager, seen);
  const Bytes reserved = device.reserved;
  for (std::uint64_t nth = 0; nth < 6; ++nth) {
    device.fail_at = nth;
    bool failed = false;
    {
      Transaction window(manager);
      const std::array wanted{NewPage{PoolKind::persistent, 900}, NewPage{PoolKind::persistent, 9}};
      const std::array<Bytes, 2> extents{2000, 100};
      const auto run = [&] {
        manager.unmap(old);
        const TensorSlot fresh = manager.add(10);
        const MadePages made = manager.make_pages(wanted);
        if (!made.ok()) return false;
        manager.set_place(fresh, made.pages[1], 0);
        if (!manager.lend(extents).ok()) return false;
        if (!manager.reserve_uniforms(100).ok()) return false;
        return manager.reserve_readback(100).ok();
      };
      failed = !run();
    }
    EXPECT_TRUE(failed) << "page " << nth;
    EXPECT_EQ(picture(manager, seen), before);
    EXPECT_EQ(device.reserved, reserved);
    expect_well();
  }
}

TEST_F(ManagerTest, ReplacedTransientPagesGoOnceNoSubmissionUsesThem) {
  const std::array<Bytes, 1> small{1000};
  const std::array<Bytes, 1> large{3000};
  PageId first;
  {
    Transaction window(manager);
    const LentPages lent = manager.lend(small);
    first = lent.pages[0].page;
    const std::array used{first};
    window.commit(used, 1);
    manager.give_back(lent.pages);
  }
  {
    Transaction window(manager);
    const LentPages lent = manager.lend(large);
    window.commit({}, 2);
    manager.give_back(lent.pages);
  }
  manager.pump();
  EXPECT_NE(manager.find(first), nullptr) << "ticket 1 is not done";
  device.done = 1;
  manager.pump();
  EXPECT_EQ(manager.find(first), nullptr);
  EXPECT_EQ(manager.pages_freed(), 1u);
}

TEST_F(ManagerTest, AReplacedPageThatServesAgainStays) {
  const std::array<Bytes, 1> small{1000};
  const std::array<Bytes, 1> large{3000};
  const LentPages a = manager.lend(small);
  manager.give_back(a.pages);
  manager.give_back(manager.lend(large).pages);
  ASSERT_TRUE(manager.try_lend(a.pages));
  manager.give_back(a.pages);
  manager.pump();
  EXPECT_NE(manager.find(a.pages[0].page), nullptr);
}

TEST_F(ManagerTest, APageWithoutTensorsIsIdleAndTrimFreesIt) {
  const TensorSlot a = manager.add(100);
  const PageId page = manager.map(a, {}).slice.page;
  EXPECT_EQ(manager.trim(0), 0u) << "somebody lives there";
  manager.drop(a);
  EXPECT_TRUE(manager.find(page)->idle());
  EXPECT_EQ(manager.trim(1024), 0u) << "may be kept";
  EXPECT_EQ(manager.trim(1023), 1024u);
  EXPECT_EQ(manager.find(page), nullptr);
  EXPECT_EQ(device.reserved, 0u);
}

TEST_F(ManagerTest, TrimLeavesPagesThatSubmittedWorkUses) {
  const TensorSlot a = manager.add(100);
  {
    Transaction window(manager);
    const std::array used{manager.map(a, {}).slice.page};
    window.commit(used, 7);
  }
  manager.drop(a);
  EXPECT_EQ(manager.trim(0), 0u);
  device.done = 7;
  EXPECT_EQ(manager.trim(0), 1024u);
}

TEST_F(ManagerTest, TrimEmptiesEveryPool) {
  const Reserved room = manager.reserve_uniforms(10);
  manager.uniforms().cancel(room.slice);
  const Reserved result = manager.reserve_readback(10);
  manager.readbacks().cancel(result.slice);
  const std::array<std::byte, 8> data{};
  const Staged staged = manager.uploads().write(data);
  manager.uploads().discard({&staged.slice, 1});
  const Reserved own = manager.reserve(10, PoolKind::exclusive);
  manager.release(own.slice);
  EXPECT_EQ(manager.reports().size(), 4u);
  EXPECT_EQ(manager.trim(0), 3 * 1024u + 256u);
  EXPECT_TRUE(manager.reports().empty());
  EXPECT_EQ(manager.uploads().write(data).status, Staged::Status::ready) << "and works on";
}

TEST_F(ManagerTest, RefusesWhatWouldBreakATransaction) {
  const TensorSlot a = manager.add(100);
  Transaction window(manager);
  EXPECT_THROW(manager.drop(a), Error);
  EXPECT_THROW((void)manager.trim(0), Error);
  EXPECT_THROW(Transaction{manager}, Error);
  window.commit();
  EXPECT_THROW(window.commit(), Error);
}

TEST_F(ManagerTest, InSteadyStateNoPageIsMade) {
  const std::array<Bytes, 2> extents{3000, 500};
  for (std::uint64_t step = 1; step <= 10; ++step) {
    if (step == 4) {
      device.made_ever = 0;
    }
    const TensorSlot out = manager.add(700);
    const std::array<std::byte, 512> data{};
    const Staged staged = manager.uploads().write(data);
    Transaction window(manager);
    const PageId page = manager.map(out, {}).slice.page;
    const LentPages lent = manager.lend(extents);
    const Reserved room = manager.reserve_uniforms(300);
    const Reserved result = manager.reserve_readback(700);
    manager.uploads().close({&staged.slice, 1});
    for (const PageId used : {staged.slice.page, result.slice.page}) {
      device.use(manager.handle_of(used), step);
    }
    const std::array used{page, lent.pages[0].page, lent.pages[1].page};
    window.commit(used, step);
    manager.uniforms().submitted(room.slice, step);
    manager.readbacks().seal();
    manager.uploads().submitted({&staged.slice, 1});
    manager.give_back(lent.pages);
    manager.readbacks().wait(result.slice);
    manager.readbacks().release(result.slice);
    manager.drop(out);
    expect_well();
  }
  EXPECT_EQ(device.made_ever, 0u);
}

RC_GTEST_PROP(Manager, EveryHistoryKeepsItsInvariantsAndRollsBackExactly, ()) {
  test::FakeDevice device;
  Storage storage(device, 40000);
  Manager manager(storage, device,
                  small_pages(*rc::gen::element(PoolKind::sliced, PoolKind::exclusive)));
  std::vector<TensorSlot> tensors;
  std::vector<LentPages> lent;
  std::uint64_t ticket = 0;
  const auto some_pages = [&] {
    std::vector<PageId> pages;
    for (const PoolKind pool : {PoolKind::sliced, PoolKind::exclusive}) {
      for (const Page* page : manager.pages(pool)) {
        if (*rc::gen::arbitrary<bool>()) pages.push_back(page->id());
      }
    }
    return pages;
  };
  // One random action; `slots` is what the caller sees of the tensors at that point.
  const auto act = [&](std::vector<TensorSlot>& slots) {
    const bool any = !slots.empty();
    const TensorSlot tensor = any ? *rc::gen::elementOf(slots) : TensorSlot{};
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        slots.push_back(manager.add(static_cast<Bytes>(*rc::gen::inRange(1, 3000))));
        break;
      case 1:
        if (any && !manager.place_of(tensor)) {
          const std::vector<PageId> excluded = some_pages();
          const Reserved mapped = manager.map(tensor, excluded);
          if (mapped.ok()) RC_ASSERT(!contains(excluded, mapped.slice.page));
        }
        break;
      case 2:
        if (any) manager.unmap(tensor);
        break;
      case 3: {
        const std::array wanted{
            NewPage{PoolKind::persistent, static_cast<Bytes>(*rc::gen::inRange(1, 3000))}};
        (void)manager.make_pages(wanted);
        break;
      }
      case 4:
        for (const Page* page : manager.pages(PoolKind::persistent)) {
          if (!any || manager.place_of(tensor) || page->free().ranges().empty()) continue;
          const Range room = page->free().ranges().back();
          const Bytes at = align_up(room.offset, 4);
          if (at + manager.bytes_of(tensor) > room.end()) continue;
          manager.set_place(tensor, page->id(), at);
        }
        break;
      default: {
        const std::array<Bytes, 2> extents{static_cast<Bytes>(*rc::gen::inRange(1, 4000)),
                                           static_cast<Bytes>(*rc::gen::inRange(1, 4000))};
        const LentPages pages = manager.lend(extents);
        if (pages.ok()) manager.give_back(pages.pages);
      }
    }
    RC_ASSERT(manager.check().value_or("") == "");
  };
  const auto steps = *rc::gen::inRange(1, 30);
  for (int step = 0; step < steps; ++step) {
    const auto what = *rc::gen::inRange(0, 5);
    if (what == 0 && !tensors.empty()) {
      manager.drop(tensors.back());
      tensors.pop_back();
    } else if (what == 1) {
      (void)manager.trim(static_cast<Bytes>(*rc::gen::inRange(0, 8000)));
    } else if (what == 2) {
      device.done = ticket;
      manager.pump();
    } else {
      manager.pump();  // what a transaction begins with; not undone
      const std::string before = picture(manager, tensors);
      std::vector<TensorSlot> slots = tensors;
      const bool keep = *rc::gen::arbitrary<bool>();
      {
        Transaction window(manager);
        const auto actions = *rc::gen::inRange(0, 8);
        if (*rc::gen::inRange(0, 3) == 0) {
          device.fail_at = static_cast<std::uint64_t>(*rc::gen::inRange(0, 4));
        }
        for (int i = 0; i < actions; ++i) act(slots);
        if (keep) window.commit(some_pages(), ++ticket);
      }
      device.fail_at.reset();
      if (keep) {
        tensors = slots;
      } else {
        RC_ASSERT(picture(manager, tensors) == before);
      }
    }
    RC_ASSERT(manager.check().value_or("") == "");
    RC_ASSERT(storage.reserved() == device.reserved);
    RC_ASSERT(!device.freed_in_use);
  }
}

}  // namespace
}  // namespace berth::memory
