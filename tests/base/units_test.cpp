// SPDX-License-Identifier: Apache-2.0
#include "berth/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.hpp"
#include "berth/access.hpp"
#include "berth/error.hpp"
#include "berth/options.hpp"

namespace berth {
namespace {

TEST(Range, EndsAtTheLargestSizeInsteadOfWrappingAround) {
  EXPECT_EQ((Range{4, 8}).end(), 12U);
  EXPECT_EQ((Range{4, kWholeSize}).end(), kWholeSize);
  EXPECT_EQ((Range{kWholeSize, 1}).end(), kWholeSize);
}

TEST(Range, OverlapsOnlyWhereAByteIsShared) {
  constexpr Range kMiddle{4, 4};
  EXPECT_TRUE(kMiddle.overlaps({4, 4}));
  EXPECT_TRUE(kMiddle.overlaps({7, 1}));
  EXPECT_TRUE(kMiddle.overlaps({0, 5}));
  EXPECT_TRUE(kMiddle.overlaps({0, kWholeSize}));
  EXPECT_FALSE(kMiddle.overlaps({0, 4}));
  EXPECT_FALSE(kMiddle.overlaps({8, 4}));
  EXPECT_FALSE(kMiddle.overlaps({5, 0})) << "an empty range shares no byte";
  EXPECT_FALSE((Range{5, 0}).overlaps(kMiddle));
}

TEST(Range, ContainsItselfAndWhatLiesInside) {
  constexpr Range kRange{4, 8};
  EXPECT_TRUE(kRange.contains(kRange));
  EXPECT_TRUE(kRange.contains({6, 2}));
  EXPECT_TRUE(kRange.contains({12, 0}));
  EXPECT_FALSE(kRange.contains({3, 2}));
  EXPECT_FALSE(kRange.contains({8, 5}));
}

TEST(Align, GoesUpAndDownToMultiples) {
  EXPECT_EQ(align_up(0, 256), 0U);
  EXPECT_EQ(align_up(1, 256), 256U);
  EXPECT_EQ(align_up(256, 256), 256U);
  EXPECT_EQ(align_up(7, 1), 7U);
  EXPECT_EQ(align_down(255, 256), 0U);
  EXPECT_EQ(align_down(257, 256), 256U);
}

TEST(Id, IsInvalidByDefault) {
  struct Tag;
  EXPECT_FALSE(Id<Tag>{}.valid());
  EXPECT_TRUE(Id<Tag>{0}.valid());
  EXPECT_LT(Id<Tag>{1}, Id<Tag>{2});
  EXPECT_EQ(std::hash<Id<Tag>>{}(Id<Tag>{3}), std::hash<Id<Tag>>{}(Id<Tag>{3}));
}

TEST(Access, SaysWhatItReadsAndWrites) {
  EXPECT_TRUE(reads(Access::read) && !writes(Access::read));
  EXPECT_TRUE(!reads(Access::write) && writes(Access::write));
  EXPECT_TRUE(reads(Access::read_write) && writes(Access::read_write));
}

TEST(Text, JoinsWordsAndNumbers) {
  EXPECT_EQ(text("need ", std::uint64_t{18446744073709551615U}, ' ', "bytes", ' ', -3, ' ', 0.5),
            "need 18446744073709551615 bytes -3 0.5");
  EXPECT_EQ(to_text(Range{64, 64}), "[64, 128)");
}

TEST(Text, WritesBytesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(1), "1 byte");
  EXPECT_EQ(human_bytes(1023), "1023 bytes");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(kMiB + kMiB / 4), "1.25 MiB");
  EXPECT_EQ(human_bytes(10 * kGiB), "10 GiB");
}

TEST(Names, AreGivenToEveryValue) {
  std::set<std::string> codes;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    codes.insert(name_of(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(codes.size(), 11U);
  EXPECT_FALSE(codes.contains("?"));
  EXPECT_STREQ(name_of(Policy::read_write), "read_write");
  EXPECT_STREQ(name_of(Access::read_write), "read_write");
}

TEST(Errors, CarryTheirNumbersThroughABaseReference) {
  const OutOfMemory out("A sentence.", 100, 50, {{"large", 80}});
  const Error& base = out;
  EXPECT_EQ(base.code(), ErrorCode::out_of_memory);
  EXPECT_STREQ(base.what(), "A sentence.");
  EXPECT_EQ(out.need(), 100U);
  EXPECT_EQ(out.budget(), 50U);
  ASSERT_EQ(out.largest().size(), 1U);
  EXPECT_EQ(out.largest()[0].label, "large");
  EXPECT_EQ(DeviceLost("x").code(), ErrorCode::device_lost);
  EXPECT_EQ(Unsupported("x").code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace berth
