// SPDX-License-Identifier: Apache-2.0
//
// Kernels that break their word, planted for the strict reference runtime to find.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Kernel planted(const std::string& name, std::vector<BindingSignature> bindings,
               CpuFunction function) {
  KernelSignature signature;
  signature.name = name;
  signature.bindings = std::move(bindings);
  signature.workgroup = {1, 1, 1};
  KernelCode cpu;
  cpu.target = Target::cpu;
  cpu.function = function;
  return Kernel(std::move(signature), {std::move(cpu)});
}

class PlantedKernel : public Conformance {
 protected:
  /// The window with `kernel` fails with that message; without it the client goes on.
  void expect_found(const Kernel& kernel, std::initializer_list<Binding> bindings,
                    const testing::Matcher<std::string>& message) {
    const Handle untouched = tensor(counted(8));
    client().flush();
    EXPECT_THAT(error_of(ErrorCode::kernel,
                         [&] {
                           client().launch(kernel, Grid{1}, bindings);
                           client().sync();
                         }),
                AllOf(HasSubstr("'" + kernel.name() + "'"), message));
    client().discard();
    expect_words(untouched, counted(8));
  }
};
BERTH_UNDER_EVERY_POLICY(PlantedKernel);

TEST_P(PlantedKernel, ThatReadsUnwrittenBytesIsFound) {
  const Kernel kernel =
      planted("sums_more_than_is_there",
              {{"x", Element::u32, Access::read, 1}, {"out", Element::u32, Access::write, 1}},
              [](const CpuInvocation& run) {
                run.buffer<std::uint32_t>(1)[0] =
                    run.buffer<const std::uint32_t>(0)[0] + run.buffer<const std::uint32_t>(0)[7];
              });
  const Handle x = empty(8);
  client().upload(x.slice(0, 16), std::span<const std::uint32_t>(counted(4)));
  const Handle out = empty(1);
  expect_found(kernel, {x, out}, HasSubstr("reads bytes that nobody wrote"));
}

TEST_P(PlantedKernel, ThatBreaksAWritePromiseIsFound) {
  const Kernel kernel = planted("writes_every_other", {{"out", Element::u32, Access::write, 1}},
                                [](const CpuInvocation& run) {
                                  const auto out = run.buffer<std::uint32_t>(0);
                                  for (std::size_t i = 0; i < out.size(); i += 2) out[i] = 1;
                                });
  const Handle out = tensor(Words(8, 0));
  expect_found(kernel, {out},
               AllOf(HasSubstr("does not overwrite byte 4"), HasSubstr("binding 'out'")));
}

TEST_P(PlantedKernel, ThatWritesThroughAReadBindingIsFound) {
  const Kernel kernel = planted(
      "scribbles", {{"x", Element::u32, Access::read, 1}, {"out", Element::u32, Access::write, 1}},
      [](const CpuInvocation& run) {
        run.buffer<std::uint32_t>(0)[2] += 1;
        run.buffer<std::uint32_t>(1)[0] = 1;
      });
  const Handle x = tensor(counted(8));
  const Handle out = empty(1);
  expect_found(kernel, {x, out}, AllOf(HasSubstr("writes through"), HasSubstr("binding 'x'")));
}

TEST_P(PlantedKernel, ThatWritesPastItsBindingIsFound) {
  const Kernel kernel =
      planted("overruns", {{"out", Element::u32, Access::write, 1}}, [](const CpuInvocation& run) {
        const auto out = run.buffer<std::uint32_t>(0);
        for (std::size_t i = 0; i <= out.size(); ++i) out.data()[i] = 1;
      });
  const Handle out = tensor(Words(8, 0));
  expect_found(kernel, {out}, AllOf(HasSubstr("past the end"), HasSubstr("binding 'out'")));
}

}  // namespace
}  // namespace berth::conformance
