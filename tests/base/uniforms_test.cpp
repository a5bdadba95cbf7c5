// SPDX-License-Identifier: Apache-2.0
#include "berth/uniforms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/error.hpp"

namespace berth {
namespace {

using testing::ElementsAre;

using Type = Uniforms::Type;
constexpr Type kU32{Element::u32, 1};
constexpr Type kI32{Element::i32, 1};
constexpr Type kF32{Element::f32, 1};

TEST(Uniforms, OfNothingAreEmpty) {
  struct Nothing {};
  EXPECT_TRUE(Uniforms().words().empty());
  EXPECT_TRUE(Uniforms(Nothing{}).types().empty());
}

TEST(Uniforms, TakeAnAggregatesFieldsInOrderBitForBit) {
  struct Fields {
    float a = 0;
    std::uint32_t n = 0;
    std::int32_t shift = 0;
  };
  const Uniforms uniforms = Fields{1.0F, 7, -1};
  EXPECT_THAT(uniforms.types(), ElementsAre(kF32, kU32, kI32));
  EXPECT_THAT(uniforms.words(), ElementsAre(0x3F800000U, 7U, 0xFFFFFFFFU));
}

TEST(Uniforms, TakeArraysAsVectors) {
  struct Fields {
    std::array<std::uint32_t, 2> two{};
    std::array<std::int32_t, 3> three{};
    std::array<float, 4> four{};
  };
  const Uniforms uniforms = Fields{{1, 2}, {3, 4, -5}, {0, 0, 0, 2.0F}};
  EXPECT_THAT(uniforms.types(),
              ElementsAre(Type{Element::u32, 2}, Type{Element::i32, 3}, Type{Element::f32, 4}));
  EXPECT_THAT(uniforms.words(), ElementsAre(1U, 2U, 3U, 4U, 0xFFFFFFFBU, 0U, 0U, 0U, 0x40000000U));
}

TEST(Uniforms, TakeAggregatesOfOneToTwelveFields) {
  struct One {
    std::uint32_t a = 0;
  };
  struct Twelve {
    std::uint32_t a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, i = 8, j = 9, k = 10,
                  l = 11;
  };
  EXPECT_THAT(Uniforms(One{5}).words(), ElementsAre(5U));
  EXPECT_THAT(Uniforms(Twelve{}).words(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(Uniforms, CountTheFieldsOfAggregatesThatHoldArrays) {
  struct Mixed {
    std::array<float, 3> direction{};
    std::uint32_t n = 0;
  };
  static_assert(detail::field_count<Mixed>() == 2);
  struct ArrayFirst {
    std::array<std::uint32_t, 4> a{};
    std::array<std::uint32_t, 4> b{};
    std::uint32_t c = 0;
  };
  static_assert(detail::field_count<ArrayFirst>() == 3);
  EXPECT_EQ(Uniforms(ArrayFirst{}).words().size(), 9U);
}

TEST(Uniforms, GrowValueByValueToTheirLimits) {
  Uniforms fields;
  for (std::size_t i = 0; i < Uniforms::kMaxFields; ++i) fields.add(std::uint32_t{1});
  EXPECT_EQ(fields.types().size(), Uniforms::kMaxFields);
  EXPECT_THROW(fields.add(std::uint32_t{1}), Error);
  EXPECT_EQ(fields.types().size(), Uniforms::kMaxFields) << "a refused value changed something";

  Uniforms words;
  for (std::size_t i = 0; i < Uniforms::kMaxWords / 4; ++i) {
    words.add(std::array<float, 4>{1, 2, 3, 4});
  }
  EXPECT_EQ(words.words().size(), Uniforms::kMaxWords);
  try {
    words.add(1.0F);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), testing::HasSubstr("64 components"));
  }
}

}  // namespace
}  // namespace berth
