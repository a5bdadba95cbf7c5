// SPDX-License-Identifier: Apache-2.0
//
// Compiling kernels: what a user is told when it fails, and which forms exist.
#include "runtime/wgpu/wgpu_kernels.hpp"

#include <gtest/gtest.h>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"

namespace berth::runtime::wgpu_test {
namespace {

class WgpuKernels : public testing::TestWithParam<TestDevice> {
 protected:
  void SetUp() override { backend = connect(GetParam()); }
  std::string compile_error(const Kernel& kernel, Variant variant = Variant::plain) {
    return error_of(ErrorCode::kernel, [&] { backend->compile(kernel, variant, 0); });
  }
  std::unique_ptr<Backend> backend;
};

const std::vector<BindingSignature> kReadAndWrite{{"x", Element::f32, Access::read},
                                                  {"y", Element::f32, Access::write}};

TEST_P(WgpuKernels, AWgslErrorNamesKernelLineAndTheCompilersText) {
  const Kernel kernel = kernel_of("broken_one", kReadAndWrite,
                                  "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
                                  "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
                                  "@compute @workgroup_size(64)\n"
                                  "fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
                                  "  y[id.x] = no_such_thing(x[id.x]);\n"
                                  "}\n");
  const std::string message = compile_error(kernel);
  EXPECT_NE(message.find("\"broken_one\""), std::string::npos) << message;
  EXPECT_NE(message.find("at line 5"), std::string::npos) << message;
  EXPECT_NE(message.find("no_such_thing"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_FALSE(backend->compiled(kernel, Variant::plain, 0));
}

TEST_P(WgpuKernels, AWriteToABindingThatTheSignatureOnlyReadsIsRefused) {
  const Kernel kernel = kernel_of("liar", kReadAndWrite, R"(
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = y[id.x]; }
)");
  EXPECT_NE(compile_error(kernel).find("\"liar\""), std::string::npos);
}

TEST_P(WgpuKernels, AMissingEntryPointIsRefused) {
  const Kernel kernel = kernel_of("headless", {}, "@compute @workgroup_size(1) fn other() {}");
  EXPECT_NE(compile_error(kernel).find("\"headless\""), std::string::npos);
}

TEST_P(WgpuKernels, MoreBindingsThanTheDeviceHasAreRefusedWithTheLimit) {
  const std::uint32_t limit = backend->capabilities().limits.max_storage_bindings;
  std::vector<BindingSignature> bindings;
  for (std::uint32_t i = 0; i <= limit; ++i) {
    bindings.push_back({"b" + std::to_string(i), Element::f32, Access::read});
  }
  const Kernel kernel =
      kernel_of("greedy", std::move(bindings), "@compute @workgroup_size(1) fn main() {}");
  EXPECT_NE(compile_error(kernel).find(std::to_string(limit)), std::string::npos);
  EXPECT_NE(compile_error(kernel).find(std::to_string(limit)), std::string::npos) << "once more";
}

TEST_P(WgpuKernels, AFormWithoutCodeIsRefused) {
  EXPECT_NE(compile_error(add_one_kernel(), Variant::promoted).find("no WGSL code"),
            std::string::npos);
}

TEST_P(WgpuKernels, AMissingFeatureIsNamed) {
  KernelSignature signature;
  signature.name = "futuristic";
  signature.requires_features = {"time-travel"};
  KernelCode code;
  code.source = "@compute @workgroup_size(1) fn main() {}";
  EXPECT_NE(compile_error(Kernel(signature, {code})).find("\"time-travel\""), std::string::npos);
}

TEST_P(WgpuKernels, AKernelWithoutBindingsCompiles) {
  const Kernel kernel = kernel_of("empty", {}, "@compute @workgroup_size(1) fn main() {}");
  backend->compile(kernel, Variant::plain, 0);
  EXPECT_TRUE(backend->compiled(kernel, Variant::plain, 0));
}

TEST_P(WgpuKernels, AKernelWhoseLoopsEndCompiles) {
  const Kernel kernel = kernel_of("looping", kReadAndWrite, R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var sum = 0.0;
  for (var i = 0u; i < 8u; i++) { sum += x[i]; }
  y[id.x] = sum;
}
)",
                                  true);
  backend->compile(kernel, Variant::plain, 0);
}

TEST_P(WgpuKernels, FormsOfOneKernelAreCompiledEachOnItsOwn) {
  KernelSignature signature;
  signature.name = "scale";
  signature.bindings = kReadAndWrite;
  signature.in_place = {{"x", "y"}};
  KernelCode in_place;
  in_place.variant = Variant::in_place;
  in_place.in_place_pairs = 1;
  in_place.source = R"(
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = y[id.x] * 2.0; }
)";
  KernelCode promoted;
  promoted.variant = Variant::promoted;
  promoted.source = R"(
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x] * 2.0; }
)";
  const Kernel kernel(signature, {in_place, promoted});
  backend->compile(kernel, Variant::in_place, 1);
  EXPECT_TRUE(backend->compiled(kernel, Variant::in_place, 1));
  EXPECT_FALSE(backend->compiled(kernel, Variant::promoted, 0));
  backend->compile(kernel, Variant::promoted, 0);
  EXPECT_TRUE(backend->compiled(kernel, Variant::promoted, 0));
}

INSTANTIATE_TEST_SUITE_P(Devices, WgpuKernels, testing::ValuesIn(all_targets()),
                         [](const auto& p) { return name_of_target(p.param); });

TEST(WgpuKernelErrors, FindTheLineInBothLibrariesWords) {
  EXPECT_EQ(wgpu::line_in("Shader 'k' parsing error: no\n  ┌─ wgsl:5:10\n  │"), 5U);
  EXPECT_EQ(wgpu::line_in("Error while parsing WGSL: :12:5 error: unresolved value"), 12U);
  EXPECT_EQ(wgpu::line_in("Validation Error: a::b 3:4"), 0U);
  EXPECT_EQ(wgpu::line_in(""), 0U);
}

}  // namespace
}  // namespace berth::runtime::wgpu_test
