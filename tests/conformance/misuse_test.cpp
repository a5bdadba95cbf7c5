// SPDX-License-Identifier: Apache-2.0
//
// Misuse is refused at the call with what, where, value and limit; nothing is recorded and what was
// handed over stays the caller's.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

using testing::HasSubstr;

class Misuse : public Conformance {
 protected:
  /// `call` is refused with that code and a message that has all of `parts`; nothing is recorded.
  void expect_refused(ErrorCode code, const std::vector<std::string>& parts,
                      const std::function<void()>& call) {
    client().flush();
    const Report before = client().report();
    const std::string message = error_of(code, call);
    for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.empty() ? '?' : message.back(), '.') << message;
    client().flush();
    EXPECT_EQ(client().report().tasks, before.tasks) << message;
  }
  void copy(const Binding& x, const Binding& out) { launch_copy(x, out, 4); }
};
BERTH_UNDER_EVERY_POLICY(Misuse);

TEST_P(Misuse, OfCountsIsRefused) {
  const Handle x = tensor(counted(64));
  const Handle out = empty(64);
  expect_refused(ErrorCode::invalid_argument, {"kernel 'copy'", "2 bindings", "1 were given"},
                 [&] { client().launch(test::copy_kernel(), Grid{1}, {x}, test::Count{64}); });
  expect_refused(ErrorCode::invalid_argument, {"kernel 'copy'", "2 bindings", "3 were given"}, [&] {
    client().launch(test::copy_kernel(), Grid{1}, {x, x, out}, test::Count{64});
  });
  expect_refused(ErrorCode::invalid_argument, {"kernel 'copy'", "'n'", "no value", "0 values"},
                 [&] { client().launch(test::copy_kernel(), Grid{1}, {x, out}); });
  expect_refused(
      ErrorCode::invalid_argument, {"kernel 'copy'", "1 uniform fields", "2 values"},
      [&] { client().launch(test::copy_kernel(), Grid{1}, {x, out}, test::Counts{64, 64}); });
}

TEST_P(Misuse, OfUniformTypesIsRefused) {
  struct Float {
    float n = 0;
  };
  const Handle x = tensor(counted(64));
  const Handle out = empty(64);
  expect_refused(ErrorCode::invalid_argument, {"uniform field 'n'", "1 x u32", "1 x f32"},
                 [&] { client().launch(test::copy_kernel(), Grid{1}, {x, out}, Float{64}); });
  Uniforms wide;
  wide.add(std::array<std::uint32_t, 2>{64, 64});
  expect_refused(ErrorCode::invalid_argument, {"uniform field 'n'", "1 x u32", "2 x u32"},
                 [&] { client().launch(test::copy_kernel(), Grid{1}, {x, out}, wide); });
}

TEST_P(Misuse, OfRangesIsRefused) {
  const Handle x = tensor(counted(64), "x");
  const Handle none = empty(0, "none");
  expect_refused(ErrorCode::invalid_argument, {"'x' (256 bytes)", "offset 252", "8 bytes"},
                 [&] { static_cast<void>(x.slice(252, 8)); });
  expect_refused(ErrorCode::invalid_argument, {"'x' (256 bytes)", "offset 260"},
                 [&] { static_cast<void>(x.slice(260, kWholeSize)); });
  expect_refused(ErrorCode::invalid_argument, {"offset 2", "multiples of 4"},
                 [&] { static_cast<void>(x.slice(2, 8)); });
  expect_refused(ErrorCode::invalid_argument, {"10 bytes", "multiples of 4"},
                 [&] { static_cast<void>(client().empty(10)); });
  expect_refused(ErrorCode::invalid_argument, {"multiples of 4"},
                 [&] { static_cast<void>(client().create(std::vector<char>(7))); });
  expect_refused(ErrorCode::invalid_argument, {"upload", "8 bytes", "256 bytes", "'x'"},
                 [&] { client().upload(x, std::span<const std::uint32_t>(counted(2))); });
  const Handle half = empty(32);
  expect_refused(ErrorCode::invalid_argument, {"copy", "256", "128"},
                 [&] { client().copy(x, half); });
}

TEST_P(Misuse, OfNullHandlesIsRefused) {
  Handle moved = tensor(counted(4));
  const Handle taken = std::move(moved);
  const Handle x = tensor(counted(4));
  expect_refused(ErrorCode::invalid_argument, {"kernel 'copy'", "binding 'x'", "null"},
                 [&] { copy(Handle{}, x); });
  expect_refused(ErrorCode::invalid_argument, {"binding 'out'", "null", "moved from"},
                 [&] { copy(x, moved); });  // NOLINT(bugprone-use-after-move): that is the misuse
  expect_refused(ErrorCode::invalid_argument, {"read", "null"},
                 [&] { static_cast<void>(client().read<std::uint32_t>(moved)); });
  expect_refused(ErrorCode::invalid_argument, {"null"},
                 [&] { static_cast<void>(Handle{}.bytes()); });
}

TEST_P(Misuse, OfAnotherClientsTensorIsRefused) {
  const Client other = connect({.runtime = "reference"});
  const Handle foreign = Client(other).empty(16, {.label = "foreign"});
  const Handle x = tensor(counted(4));
  expect_refused(ErrorCode::invalid_argument, {"binding 'out'", "'foreign'", "another client"},
                 [&] { copy(x, foreign); });
  expect_refused(ErrorCode::invalid_argument, {"fill", "'foreign'", "another client"},
                 [&] { client().fill(foreign, 0); });
}

TEST_P(Misuse, ByReadingWhatNobodyWroteIsRefused) {
  const Handle x = empty(4, "x");
  const Handle out = empty(4, "out");
  expect_refused(ErrorCode::no_contents, {"kernel 'copy'", "binding 'x'", "'x' (16 bytes)"},
                 [&] { copy(x, out); });
  expect_refused(ErrorCode::no_contents, {"read", "'x'"},
                 [&] { static_cast<void>(client().read<std::uint32_t>(x)); });
  expect_refused(ErrorCode::no_contents, {"copy, source", "'x'"}, [&] { client().copy(x, out); });
  EXPECT_FALSE(out.has_contents());
}

TEST_P(Misuse, ByOverlapsWithinOneTaskIsRefused) {
  const Handle x = tensor(counted(256), "x");
  const Handle in = tensor(counted(64));
  expect_refused(
      ErrorCode::invalid_argument,
      {"kernel 'accumulate'", "binding 'x' (read [0, 1024))",
       "binding 'sum' (read_write [0, 1024))", "tensor 'x'", "overlap"},
      [&] { client().launch(test::accumulate_kernel(), Grid{1}, {x, x}, test::Count{64}); });
  expect_refused(ErrorCode::invalid_argument,
                 {"binding 'first' (write [0, 512))", "binding 'second' (write [256, 1024))"}, [&] {
                   client().launch(test::split_kernel(), Grid{1},
                                   {in, x.slice(0, 512), x.slice(256, 768)}, test::Counts{64, 64});
                 });
  expect_refused(ErrorCode::invalid_argument,
                 {"binding 'first' (write [0, 1024))", "binding 'second' (write [0, 1024))"}, [&] {
                   client().launch(test::split_kernel(), Grid{1}, {in, x, x}, test::Counts{64, 64});
                 });
}

TEST_P(Misuse, AboveADevicesLimitIsRefused) {
  ConnectOptions lowered = options();
  lowered.limits.max_groups_per_dimension = 100;
  lowered.limits.max_binding_bytes = 4096;
  lowered.limits.max_storage_bindings = 2;
  Client small = connect(lowered);
  const Handle x = small.zeros(8192, {.label = "x"});
  const Handle out = small.empty(8192);
  small.flush();
  const Report before = small.report();
  EXPECT_THAT(
      error_of(ErrorCode::too_large,
               [&] {
                 small.launch(test::copy_kernel(), Grid{1, 101, 1},
                              {x.slice(0, 4096), out.slice(0, 4096)}, test::Count{64});
               }),
      testing::AllOf(HasSubstr("1 x 101 x 1"), HasSubstr("limit of 100"), HasSubstr("cover()")));
  EXPECT_THAT(error_of(ErrorCode::too_large,
                       [&] {
                         small.launch(test::copy_kernel(), Grid{1}, {x, out.slice(0, 4096)},
                                      test::Count{64});
                       }),
              testing::AllOf(HasSubstr("binding 'x'"), HasSubstr("8192"), HasSubstr("4096")));
  EXPECT_THAT(error_of(ErrorCode::too_large,
                       [&] {
                         small.launch(test::add_kernel(), Grid{1},
                                      {x.slice(0, 256), x.slice(0, 256), out.slice(0, 256)},
                                      test::Count{64});
                       }),
              testing::AllOf(HasSubstr("3 bindings"), HasSubstr("allows 2")));
  small.flush();
  EXPECT_EQ(small.report().tasks, before.tasks);
}

TEST_P(Misuse, BelowAKernelsLeastElementsIsRefused) {
  KernelSignature signature;
  signature.name = "quads";
  signature.bindings = {{"x", Element::u32, Access::read, 4}};
  signature.workgroup = {1, 1, 1};
  KernelCode wgsl;
  wgsl.source = "// never compiled";
  KernelCode cpu;
  cpu.target = Target::cpu;
  cpu.function = [](const CpuInvocation&) {};
  const Kernel quads(signature, {wgsl, cpu});
  const Handle x = tensor(counted(2));
  expect_refused(ErrorCode::invalid_argument,
                 {"kernel 'quads'", "binding 'x'", "8 bytes", "at least 4 elements"},
                 [&] { client().launch(quads, Grid{1}, {x}); });
}

TEST_P(Misuse, OfAMissingFeatureIsRefused) {
  KernelSignature signature;
  signature.name = "flies";
  signature.workgroup = {1, 1, 1};
  signature.requires_features = {"wings"};
  KernelCode wgsl;
  wgsl.source = "// never compiled";
  KernelCode cpu;
  cpu.target = Target::cpu;
  cpu.function = [](const CpuInvocation&) {};
  const Kernel flies(signature, {wgsl, cpu});
  expect_refused(ErrorCode::unavailable, {"kernel 'flies'", "'wings'"},
                 [&] { client().launch(flies, Grid{1}, std::span<const Binding>{}); });
}

TEST_P(Misuse, AKernelThatDoesNotCompileIsNamed) {
  ignore_verdicts({test::Rule::error});
  KernelSignature signature;
  signature.name = "broken";
  signature.bindings = {{"x", Element::u32, Access::read_write, 1}};
  signature.workgroup = {64, 1, 1};
  KernelCode wgsl;
  wgsl.source =
      "@group(0) @binding(0) var<storage, read_write> x: array<u32>;\n"
      "@compute @workgroup_size(64)\n"
      "fn main() { x[0] = nonsense; }\n";
  KernelCode cuda;
  cuda.target = Target::cuda;
  cuda.source = "// not\n// yet\n#error nonsense\n";
  const Kernel broken(signature, {wgsl, cuda});
  const Handle x = tensor(counted(64));
  client().flush();
  const std::string message = error_of(ErrorCode::kernel, [&] {
    client().launch(broken, Grid{1}, {x});
    client().flush();
  });
  EXPECT_THAT(message, HasSubstr("broken"));
  EXPECT_THAT(message, HasSubstr("nonsense"));
  EXPECT_THAT(message, HasSubstr("3"));  // the line
  client().discard();
  client().upload(x, std::span<const std::uint32_t>(counted(64, 7)));
  expect_words(x, counted(64, 7));
}

TEST_P(Misuse, AKernelWithoutCodeForTheRuntimeIsNamed) {
  KernelSignature signature;
  signature.name = "foreign";
  signature.workgroup = {1, 1, 1};
  KernelCode cuda;
  cuda.target = Target::cuda;
  cuda.source = "extern \"C\" __global__ void main() {}";
  const Kernel foreign(signature, {cuda});
  expect_refused(ErrorCode::kernel, {"foreign"},
                 [&] { client().launch(foreign, Grid{1}, std::span<const Binding>{}); });
}

TEST_P(Misuse, LeavesAHandedOverHandleWithItsOwner) {
  Handle x = tensor(counted(64));
  Handle out = empty(64);
  expect_refused(ErrorCode::invalid_argument, {"1 were given"}, [&] {
    client().launch(test::copy_kernel(), Grid{1}, {std::move(x)}, test::Count{64});
  });
  EXPECT_TRUE(x);  // NOLINT(bugprone-use-after-move): that is the claim
  expect_refused(ErrorCode::invalid_argument, {"no value"}, [&] {
    client().launch(test::copy_kernel(), Grid{1}, {std::move(x), std::move(out)});
  });
  ASSERT_TRUE(x);    // NOLINT(bugprone-use-after-move)
  ASSERT_TRUE(out);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(x.can_mut());
  launch_copy(x, out, 64);
  expect_words(out, counted(64));
}

TEST_P(Misuse, ConnectingToWhatIsNotThereSaysWhy) {
  ConnectOptions unknown = options();
  unknown.runtime = "abacus";
  EXPECT_THAT(error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(connect(unknown)); }),
              testing::AllOf(HasSubstr("'abacus'"), HasSubstr("reference")));
  ConnectOptions missing;
  missing.runtime = "wgpu";
  missing.webgpu.library = "/nowhere/libwebgpu.so";
  EXPECT_THAT(error_of(ErrorCode::unavailable, [&] { static_cast<void>(connect(missing)); }),
              HasSubstr("/nowhere/libwebgpu.so"));
}

}  // namespace
}  // namespace berth::conformance
