// SPDX-License-Identifier: Apache-2.0
#include "memory/free_list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "berth/error.hpp"

namespace berth::memory {
namespace {

void expect_well(const FreeList& list) {
  const auto broken = list.check();
  EXPECT_FALSE(broken) << broken.value_or("");
}

std::vector<Range> ranges_of(const FreeList& list) {
  return {list.ranges().begin(), list.ranges().end()};
}

TEST(FreeList, TakesTheSmallestRangeThatHoldsTheBytes) {
  //  0    100  200      400  450           1000
  //  |....|####|........|####|..............|      free: 100, 200, 550
  FreeList list(1000);
  ASSERT_TRUE(list.try_reserve_at({100, 100}));
  ASSERT_TRUE(list.try_reserve_at({400, 50}));
  EXPECT_EQ(list.try_reserve(150, 1), (Range{200, 150}));
  EXPECT_EQ(list.try_reserve(100, 1), (Range{0, 100}));
  EXPECT_EQ(list.try_reserve(600, 1), std::nullopt);
  expect_well(list);
}

TEST(FreeList, StartsAlignedAndSwallowsTheTailThatNothingAlignedCanUse) {
  FreeList list(1000);
  ASSERT_TRUE(list.try_reserve_at({0, 4}));
  EXPECT_EQ(list.try_reserve(10, 256), (Range{256, 256}));
  EXPECT_EQ(ranges_of(list), (std::vector<Range>{{4, 252}, {512, 488}}));
  EXPECT_EQ(list.try_reserve(300, 256), (Range{512, 488})) << "up to the page's end";
  expect_well(list);
}

TEST(FreeList, ARangeThatIsLargeEnoughOnlyUnalignedIsPassedOver) {
  FreeList list(512);
  ASSERT_TRUE(list.try_reserve_at({0, 100}));
  ASSERT_TRUE(list.try_reserve_at({400, 112}));
  EXPECT_EQ(list.try_reserve(200, 256), std::nullopt);
  EXPECT_TRUE(list.try_reserve(144, 256));
}

TEST(FreeList, JoinsWithBothNeighboursOnRelease) {
  FreeList list(300);
  ASSERT_TRUE(list.try_reserve_at({0, 100}));
  ASSERT_TRUE(list.try_reserve_at({100, 100}));
  ASSERT_TRUE(list.try_reserve_at({200, 100}));
  list.release({0, 100});
  list.release({200, 100});
  EXPECT_EQ(list.ranges().size(), 2u);
  list.release({100, 100});
  EXPECT_EQ(ranges_of(list), (std::vector<Range>{{0, 300}}));
  EXPECT_TRUE(list.all_free());
}

TEST(FreeList, RefusesToTakeTakenBytesAndChangesNothing) {
  FreeList list(300);
  ASSERT_TRUE(list.try_reserve_at({100, 100}));
  const auto before = ranges_of(list);
  EXPECT_FALSE(list.try_reserve_at({50, 51}));
  EXPECT_FALSE(list.try_reserve_at({199, 10}));
  EXPECT_FALSE(list.try_reserve_at({100, 100}));
  EXPECT_FALSE(list.try_reserve_at({250, 51}));
  EXPECT_FALSE(list.try_reserve_at({4, kWholeSize}));
  EXPECT_EQ(ranges_of(list), before);
}

TEST(FreeList, RefusesToReleaseWhatIsNotTaken) {
  FreeList list(300);
  ASSERT_TRUE(list.try_reserve_at({100, 100}));
  EXPECT_THROW(list.release({50, 60}), Error);
  EXPECT_THROW(list.release({150, 60}), Error);
  EXPECT_THROW(list.release({0, 300}), Error);
  EXPECT_THROW(list.release({290, 20}), Error);
  list.release({100, 100});
  EXPECT_THROW(list.release({100, 100}), Error) << "twice";
  expect_well(list);
}

/// One flag per byte: too simple to be wrong.
class ByteOracle {
 public:
  explicit ByteOracle(Bytes bytes) : taken_(bytes, false) {}
  [[nodiscard]] bool free(Range range) const {
    for (Bytes b = range.offset; b < range.end(); ++b) {
      if (taken_[b]) return false;
    }
    return true;
  }
  void set(Range range, bool taken) {
    for (Bytes b = range.offset; b < range.end(); ++b) taken_[b] = taken;
  }
  /// Some aligned offset has room.
  [[nodiscard]] bool has_room(Bytes bytes, Bytes alignment) const {
    for (Bytes at = 0; at + bytes <= taken_.size(); at += alignment) {
      if (free({at, bytes})) return true;
    }
    return false;
  }
  [[nodiscard]] std::vector<Range> ranges() const {
    std::vector<Range> out;
    for (Bytes b = 0; b < taken_.size(); ++b) {
      if (taken_[b]) continue;
      if (!out.empty() && out.back().end() == b) {
        ++out.back().bytes;
      } else {
        out.push_back({b, 1});
      }
    }
    return out;
  }

 private:
  std::vector<bool> taken_;
};

RC_GTEST_PROP(FreeList, AgreesWithOneFlagPerByte, ()) {
  constexpr Bytes kSize = 200;
  FreeList list(kSize);
  ByteOracle oracle(kSize);
  std::vector<Range> held;
  const auto steps = *rc::gen::inRange(1, 80);
  for (int step = 0; step < steps; ++step) {
    const auto what = *rc::gen::inRange(0, 3);
    if (what == 0) {
      const auto bytes = static_cast<Bytes>(*rc::gen::inRange(1, 60));
      const Bytes alignment = *rc::gen::element<Bytes>(1, 4, 16, 32);
      const bool room = oracle.has_room(bytes, alignment);
      const auto taken = list.try_reserve(bytes, alignment);
      RC_ASSERT(taken.has_value() == room);
      if (taken) {
        RC_ASSERT(taken->offset % alignment == 0u && taken->bytes >= bytes);
        RC_ASSERT(taken->bytes < bytes + alignment && oracle.free(*taken));
        oracle.set(*taken, true);
        held.push_back(*taken);
      }
    } else if (what == 1) {
      const auto offset = static_cast<Bytes>(*rc::gen::inRange(0, 200));
      const auto bytes = static_cast<Bytes>(*rc::gen::inRange(1, 60));
      const Range range{offset, std::min(bytes, kSize - offset)};
      RC_ASSERT(list.try_reserve_at(range) == oracle.free(range));
      if (oracle.free(range)) {
        oracle.set(range, true);
        held.push_back(range);
      }
    } else if (!held.empty()) {
      const auto which = *rc::gen::inRange<std::size_t>(0, held.size());
      list.release(held[which]);
      oracle.set(held[which], false);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    RC_ASSERT(!list.check());
    RC_ASSERT(ranges_of(list) == oracle.ranges());
  }
}

}  // namespace
}  // namespace berth::memory
