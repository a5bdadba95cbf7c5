// SPDX-License-Identifier: Apache-2.0
//
// Layouts of uniform blocks as tables. Expected offsets by hand from WGSL, "Alignment and size":
//
//   vec2 is aligned to 8, vec3 and vec4 to 16; vec3 takes 12 bytes; the block ends at a multiple of
//   its widest alignment. CUDA and CPU: 4-byte components without padding.
#include "base/uniform_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

struct Row {
  const char* name;
  std::vector<std::uint32_t> components;
  std::vector<Bytes> wgsl;
  Bytes wgsl_bytes;
  std::vector<Bytes> packed;
  Bytes packed_bytes;
};

std::vector<UniformField> fields(const std::vector<std::uint32_t>& components) {
  std::vector<UniformField> out;
  out.reserve(components.size());
  for (std::size_t i = 0; i < components.size(); ++i) {
    out.push_back({std::string(1, static_cast<char>('a' + i)),
                   Element::u32,
                   components[i],
                   Builtin::none,
                   {}});
  }
  return out;
}

class UniformLayouts : public testing::TestWithParam<Row> {};

TEST_P(UniformLayouts, AreAsTheTargetDemands) {
  const Row& row = GetParam();
  const UniformLayout wgsl = layout_for(Target::wgsl, fields(row.components));
  EXPECT_THAT(wgsl.offsets, ElementsAreArray(row.wgsl));
  EXPECT_EQ(wgsl.bytes, row.wgsl_bytes);
  for (const Target target : {Target::cpu, Target::cuda}) {
    const UniformLayout packed = layout_for(target, fields(row.components));
    EXPECT_THAT(packed.offsets, ElementsAreArray(row.packed));
    EXPECT_EQ(packed.bytes, row.packed_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, UniformLayouts,
    testing::Values(
        Row{"Nothing", {}, {}, 0, {}, 0}, Row{"Scalar", {1}, {0}, 4, {0}, 4},
        Row{"Scalars", {1, 1, 1}, {0, 4, 8}, 12, {0, 4, 8}, 12},
        Row{"Vec2AfterScalar", {1, 2}, {0, 8}, 16, {0, 4}, 12},
        Row{"ScalarAfterVec2", {2, 1}, {0, 8}, 16, {0, 8}, 12},
        Row{"Vec3Alone", {3}, {0}, 16, {0}, 12},
        Row{"ScalarInTheGapAfterVec3", {3, 1}, {0, 12}, 16, {0, 12}, 16},
        Row{"Vec3AfterScalar", {1, 3}, {0, 16}, 32, {0, 4}, 16},
        Row{"Vec3AfterVec3", {3, 3}, {0, 16}, 32, {0, 12}, 24},
        Row{"Vec2AfterVec3", {3, 2}, {0, 16}, 32, {0, 12}, 20},
        Row{"ScalarThenVec2ThenVec3", {1, 2, 3}, {0, 8, 16}, 32, {0, 4, 12}, 24},
        Row{"Vec4AfterThreeScalars", {1, 1, 1, 4}, {0, 4, 8, 16}, 32, {0, 4, 8, 12}, 28},
        Row{"VectorsKernelOfTheSuite",
            {1, 3, 2, 4, 1},
            {0, 16, 32, 48, 64},
            80,
            {0, 4, 16, 24, 40},
            44}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(PackUniforms, PutsEveryComponentAtItsFieldAndZeroesThePadding) {
  const std::vector<UniformField> f = fields({1, 3, 1, 2});
  const UniformLayout layout = layout_for(Target::wgsl, f);
  EXPECT_THAT(layout.offsets, ElementsAre(0U, 16U, 28U, 32U));
  ASSERT_EQ(layout.bytes, 48U);
  std::vector<std::uint32_t> block(12, 0xCCCCCCCCU);
  const std::vector<std::uint32_t> words = {1, 2, 3, 4, 5, 6, 7};
  pack_uniforms(layout, f, words, reinterpret_cast<std::byte*>(block.data()));
  EXPECT_THAT(block, ElementsAre(1, 0, 0, 0, 2, 3, 4, 5, 6, 7, 0, 0));
}

TEST(PackUniforms, WritesNothingForAKernelWithoutFields) {
  std::byte guard{0xAB};
  pack_uniforms(layout_for(Target::wgsl, {}), {}, {}, &guard);
  EXPECT_EQ(guard, std::byte{0xAB});
}

}  // namespace
}  // namespace berth
