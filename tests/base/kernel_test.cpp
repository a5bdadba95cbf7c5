// SPDX-License-Identifier: Apache-2.0
#include "berth/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "berth/error.hpp"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;

KernelSignature good_signature() {
  KernelSignature signature;
  signature.name = "axpy";
  signature.bindings = {{"x", Element::f32, Access::read, 1},
                        {"y", Element::f32, Access::write, 1}};
  signature.uniforms = {{"a", Element::f32, 1, Builtin::none, {}},
                        {"n", Element::u32, 1, Builtin::none, {}}};
  signature.workgroup = {64, 1, 1};
  return signature;
}

KernelCode wgsl() {
  KernelCode code;
  code.source = "some text";
  return code;
}

TEST(Kernel, KeepsItsSignatureAndAnIdentityOfItsOwn) {
  const Kernel a(good_signature(), {wgsl()});
  const Kernel b(good_signature(), {wgsl()});
  const Kernel copy = a;  // NOLINT(performance-unnecessary-copy-initialization): that is the claim
  EXPECT_EQ(a.name(), "axpy");
  EXPECT_EQ(a.signature().bindings.size(), 2U);
  EXPECT_NE(a.id(), 0U);
  EXPECT_NE(a.id(), b.id());
  EXPECT_EQ(a.id(), copy.id());
}

TEST(Kernel, IsNullByDefaultAndSaysSo) {
  const Kernel none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.id(), 0U);
  EXPECT_EQ(none.code(Target::wgsl), nullptr);
  EXPECT_THROW(static_cast<void>(none.signature()), Error);
}

TEST(Kernel, FindsItsCodeByTargetVariantAndPairs) {
  KernelSignature signature = good_signature();
  signature.in_place = {{"x", "y"}};
  KernelCode in_place = wgsl();
  in_place.variant = Variant::in_place;
  in_place.in_place_pairs = 1;
  in_place.source = "in place";
  const Kernel kernel(signature, {wgsl(), in_place});
  ASSERT_NE(kernel.code(Target::wgsl), nullptr);
  EXPECT_EQ(kernel.code(Target::wgsl)->source, "some text");
  ASSERT_NE(kernel.code(Target::wgsl, Variant::in_place, 1), nullptr);
  EXPECT_EQ(kernel.code(Target::wgsl, Variant::in_place, 1)->source, "in place");
  EXPECT_EQ(kernel.code(Target::wgsl, Variant::in_place, 2), nullptr);
  EXPECT_EQ(kernel.code(Target::wgsl, Variant::promoted), nullptr);
  EXPECT_EQ(kernel.code(Target::cpu), nullptr);
}

struct Malformed {
  const char* name;
  std::function<void(KernelSignature&, std::vector<KernelCode>&)> spoil;
  const char* message;
};

class MalformedKernel : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedKernel, IsRefusedWithItsNameAndTheReason) {
  KernelSignature signature = good_signature();
  std::vector<KernelCode> codes = {wgsl()};
  GetParam().spoil(signature, codes);
  try {
    const Kernel kernel(signature, codes);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'axpy'"), HasSubstr(GetParam().message)));
  }
}

using Signature = KernelSignature;
using Codes = std::vector<KernelCode>;

INSTANTIATE_TEST_SUITE_P(
    Each, MalformedKernel,
    testing::Values(
        Malformed{"NamelessBinding", [](Signature& s, Codes&) { s.bindings[1].name.clear(); },
                  "binding 1 has no name"},
        Malformed{"TwoBindingsOfOneName", [](Signature& s, Codes&) { s.bindings[1].name = "x"; },
                  "bindings 0 and 1 have the same name 'x'"},
        Malformed{"TwoFieldsOfOneName", [](Signature& s, Codes&) { s.uniforms[1].name = "a"; },
                  "uniform fields 0 and 1 have the same name 'a'"},
        Malformed{"FieldOfFiveComponents",
                  [](Signature& s, Codes&) { s.uniforms[0].components = 5; },
                  "uniform field 'a' must have 1 to 4 components"},
        Malformed{"FieldOfNoComponent", [](Signature& s, Codes&) { s.uniforms[0].components = 0; },
                  "uniform field 'a' must have 1 to 4 components"},
        Malformed{"FieldOfHalves",
                  [](Signature& s, Codes&) { s.uniforms[0].element = Element::f16; },
                  "f32, i32 or u32"},
        Malformed{"BuiltinWithoutBinding",
                  [](Signature& s, Codes&) {
                    s.uniforms[1].builtin = Builtin::first_element;
                    s.uniforms[1].binding = "z";
                  },
                  "'n' speaks of binding 'z'"},
        Malformed{"BuiltinOfTheWrongType",
                  [](Signature& s, Codes&) {
                    s.uniforms[0].builtin = Builtin::first_element;
                    s.uniforms[0].binding = "x";
                  },
                  "'a' must be one u32"},
        Malformed{"PairWithoutBinding", [](Signature& s, Codes&) { s.in_place = {{"x", "z"}}; },
                  "'x' -> 'z' names a binding that it does not have"},
        Malformed{"PairTheWrongWayRound", [](Signature& s, Codes&) { s.in_place = {{"y", "x"}}; },
                  "from a read binding to a written one"},
        Malformed{"EmptyWorkgroup", [](Signature& s, Codes&) { s.workgroup.y = 0; },
                  "its workgroup size has a zero"},
        Malformed{"NoCode", [](Signature&, Codes& c) { c.clear(); }, "no code for any target"},
        Malformed{"EmptySource", [](Signature&, Codes& c) { c[0].source.clear(); },
                  "its code for WGSL is empty"},
        Malformed{"NoFunction", [](Signature&, Codes& c) { c[0].target = Target::cpu; },
                  "its code for CPU is empty"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Cover, IsOneDimensionalUpToTheLimitOfAGrid) {
  EXPECT_EQ(cover(0, 64), (Grid{0, 1, 1}));
  EXPECT_EQ(cover(1, 64), (Grid{1, 1, 1}));
  EXPECT_EQ(cover(64, 64), (Grid{1, 1, 1}));
  EXPECT_EQ(cover(65, 64), (Grid{2, 1, 1}));
  EXPECT_EQ(cover(std::uint64_t{65535} * 64, 64), (Grid{65535, 1, 1}));
}

TEST(Cover, IsTwoDimensionalAboveItAndWastesLessThanARow) {
  for (const std::uint64_t groups :
       {std::uint64_t{65536}, std::uint64_t{65537}, std::uint64_t{131070}, std::uint64_t{131071},
        std::uint64_t{1} << 30, std::uint64_t{65535} * 65535}) {
    const Grid grid = cover(groups * 256, 256);
    EXPECT_LE(grid.x, 65535U) << groups;
    EXPECT_LE(grid.y, 65535U) << groups;
    EXPECT_EQ(grid.z, 1U) << groups;
    EXPECT_GE(grid.count(), groups);
    EXPECT_LT(grid.count() - groups, grid.y) << groups;
  }
}

TEST(Cover, RefusesEmptyGroupsAndWhatTwoDimensionsCannotHold) {
  try {
    static_cast<void>(cover(100, 0));
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
  const std::uint64_t most = std::uint64_t{65535} * 65535;
  EXPECT_NO_THROW(static_cast<void>(cover(most, 1)));
  try {
    static_cast<void>(cover(most + 1, 1));
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::too_large);
    EXPECT_THAT(error.what(), HasSubstr("4294836226"));
  }
  EXPECT_THROW(static_cast<void>(cover(~std::uint64_t{0}, 1)), Error);
}

}  // namespace
}  // namespace berth
