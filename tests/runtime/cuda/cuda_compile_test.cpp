// SPDX-License-Identifier: Apache-2.0
//
// Kernels: what the fake NVRTC shows of errors, and the real one, which needs no GPU, of our code.
#include <gmock/gmock.h>

#include <filesystem>

#include "berth_build_paths.hpp"
#include "client/fill_kernel.hpp"
#include "fuzz/fuzz_kernels.hpp"
#include "runtime/cuda/cuda_compiler.hpp"
#include "runtime/cuda/cuda_fixture.hpp"

namespace berth::runtime::cuda_test {

using testing::HasSubstr;
using testing::StartsWith;

namespace {

Kernel kernel_of(std::string source, std::string entry = "f", WorkgroupSize group = {64, 1, 1}) {
  KernelSignature signature;
  signature.name = "sum of \"ships\"";
  signature.bindings = {{"x", Element::f32, Access::read, 1},
                        {"y", Element::f32, Access::write, 1}};
  signature.workgroup = group;
  KernelCode code;
  code.target = Target::cuda;
  code.source = std::move(source);
  code.entry = std::move(entry);
  return Kernel(std::move(signature), {std::move(code)});
}

const cuda::NvrtcLibrary& real_nvrtc() {
  static const cuda::NvrtcLibrary library = [] {
    CudaOptions options;
    options.nvrtc_library = build_paths::kNvrtc;
    return cuda::load_nvrtc(options);
  }();
  return library;
}

cuda::Image compile(const Kernel& kernel, int architecture) {
  return cuda::compile_source(real_nvrtc(), kernel, *kernel.code(Target::cuda), architecture);
}

}  // namespace

using Kernels = FakeCuda;

TEST_F(Kernels, CompileOnceAForm) {
  const auto backend = connect();
  const Kernel& kernel = test::add_kernel();
  EXPECT_FALSE(backend->compiled(kernel, Variant::plain, 0));
  backend->compile(kernel, Variant::plain, 0);
  backend->compile(kernel, Variant::plain, 0);
  EXPECT_TRUE(backend->compiled(kernel, Variant::plain, 0));
  EXPECT_EQ(fake().calls("cuModuleLoadData"), 1);
}

TEST_F(Kernels, ThatDoNotCompileAreNamedWithTheirLine) {
  const auto backend = connect();
  const std::string message = error_of(ErrorCode::kernel, [&] {
    backend->compile(kernel_of("void f(\n#error\n"), Variant::plain, 0);
  });
  EXPECT_THAT(message, HasSubstr("\"sum of \"ships\"\" does not compile at line 2: "));
  EXPECT_FALSE(backend->compiled(kernel_of("void f(\n#error\n"), Variant::plain, 0));
}

TEST_F(Kernels, WithoutTheirEntryPointAreNamed) {
  const auto backend = connect();
  EXPECT_THAT(error_of(ErrorCode::kernel,
                       [&] { backend->compile(kernel_of("void g()", "h"), Variant::plain, 0); }),
              HasSubstr("has no function extern \"C\" __global__ \"h\": CUDA_ERROR_NOT_FOUND"));
}

TEST_F(Kernels, WithMoreInvocationsThanTheirRegistersAllowAreRefused) {
  const auto backend = connect();
  fake().register_kernel("void f()", "f", 2, [](const fake_cuda::Launch&) {});
  fake().set_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 256);
  EXPECT_THAT(
      error_of(
          ErrorCode::kernel,
          [&] { backend->compile(kernel_of("void f()", "f", {512, 1, 1}), Variant::plain, 0); }),
      HasSubstr("has 512 invocations per workgroup"));
}

TEST_F(Kernels, WithoutCudaCodeOrWithAMissingFeatureAreRefused) {
  const auto backend = connect();
  KernelSignature signature;
  signature.name = "cpu only";
  signature.bindings = {{"y", Element::f32, Access::write, 1}};
  signature.workgroup = {1, 1, 1};
  KernelCode cpu;
  cpu.target = Target::cpu;
  cpu.function = [](const CpuInvocation&) {};
  EXPECT_THAT(error_of(ErrorCode::kernel,
                       [&] { backend->compile(Kernel(signature, {cpu}), Variant::plain, 0); }),
              HasSubstr("has no CUDA code"));
  KernelCode code;
  code.target = Target::cuda;
  code.source = "void f()";
  signature.requires_features = {"wings"};
  EXPECT_THAT(error_of(ErrorCode::kernel,
                       [&] { backend->compile(Kernel(signature, {code}), Variant::plain, 0); }),
              HasSubstr("requires the feature \"wings\""));
}

TEST_F(Kernels, ForAnArchitectureThatNvrtcDoesNotKnowAreLeftToTheDriverAsPtx) {
  const cuda::NvrtcLibrary nvrtc = cuda::load_nvrtc(fake_options().cuda);
  const Kernel kernel = kernel_of("void f()");
  const KernelCode& code = *kernel.code(Target::cuda);
  EXPECT_THAT(cuda::compile_source(nvrtc, kernel, code, 90).bytes, StartsWith("CUBIN "));
  EXPECT_THAT(cuda::compile_source(nvrtc, kernel, code, 86).bytes, StartsWith("PTX "));
  EXPECT_THAT(error_of(ErrorCode::kernel,
                       [&] { static_cast<void>(cuda::compile_source(nvrtc, kernel, code, 60)); }),
              HasSubstr("knows no architecture up to the device's sm_60"));
}

TEST(LineIn, ReadsTheWordsOfNvrtc) {
  EXPECT_EQ(cuda::line_in("add(12): error: identifier \"y\" is undefined"), 12U);
  EXPECT_EQ(cuda::line_in("a(1): warning: x\nadd(7): error: y"), 7U);
  EXPECT_EQ(cuda::line_in("no line"), 0U);
}

// The real compiler, for the architecture of an H200.
class RealNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(build_paths::kNvrtc)) {
      GTEST_SKIP() << "NVRTC was not fetched: scripts/setup.sh";
    }
  }
};

TEST_F(RealNvrtc, CompilesEveryKernelOfTheLibraryAndOfTheTests) {
  std::vector<Kernel> kernels(test::integer_kernels().begin(), test::integer_kernels().end());
  for (const Kernel& kernel :
       {client::fill_kernel(), fuzz::add_kernel(), fuzz::increment_kernel(), fuzz::fork_kernel(),
        fuzz::scatter_kernel(), fuzz::accumulate_kernel(), fuzz::gated_kernel()}) {
    kernels.push_back(kernel);
  }
  for (const Kernel& kernel : kernels) {
    for (std::uint32_t pairs = 0; pairs < 1U << kernel.signature().in_place.size(); ++pairs) {
      const Variant variant = pairs == 0 ? Variant::plain : Variant::in_place;
      const KernelCode* code = kernel.code(Target::cuda, variant, pairs);
      if (code == nullptr && pairs != 0) continue;
      ASSERT_NE(code, nullptr) << kernel.name();
      const cuda::Image image = cuda::compile_source(real_nvrtc(), kernel, *code, 90);
      EXPECT_TRUE(image.is_cubin);
      EXPECT_THAT(image.bytes, StartsWith("\x7F"
                                          "ELF"))
          << kernel.name();
      EXPECT_THAT(image.bytes, HasSubstr(code->entry));
    }
  }
}

TEST_F(RealNvrtc, FindsTheHeadersForHalfPrecision) {
  EXPECT_NE(cuda::include_folder_of(real_nvrtc().path), "");
  const Kernel kernel = kernel_of(
      "#include <cuda_fp16.h>\nextern \"C\" __global__ void f(const float* x, float* y) { y[0] = "
      "__half2float(__float2half(x[0])); }");
  EXPECT_THAT(compile(kernel, 90).bytes, StartsWith("\x7F"
                                                    "ELF"));
}

TEST_F(RealNvrtc, NamesTheLineOfAnError) {
  const Kernel kernel =
      kernel_of("extern \"C\" __global__ void f(const float* x, float* y) {\n  y[0] = z;\n}");
  EXPECT_THAT(error_of(ErrorCode::kernel, [&] { static_cast<void>(compile(kernel, 90)); }),
              testing::AllOf(HasSubstr("does not compile at line 2: "), HasSubstr("\"z\"")));
}

TEST_F(RealNvrtc, WritesPtxForAnArchitectureBetweenTwoThatItKnows) {
  const Kernel kernel =
      kernel_of("extern \"C\" __global__ void f(const float* x, float* y) { y[0] = x[0]; }");
  const cuda::Image image = compile(kernel, 99);
  EXPECT_FALSE(image.is_cubin);
  EXPECT_THAT(image.bytes, HasSubstr(".target sm_90"));
}

}  // namespace berth::runtime::cuda_test
