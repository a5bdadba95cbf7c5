// SPDX-License-Identifier: Apache-2.0
//
// The judge of every test, judged: kernels with planted faults, each found and named; good kernels
// that come close to one, each let through; and a refused submission changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/error.hpp"
#include "runtime/reference/reference_runtime.hpp"
#include "runtime/reference/rig.hpp"

namespace berth::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::uint32_t>;

constexpr Access kRead = Access::read;
constexpr Access kWrite = Access::write;
constexpr Access kReadWrite = Access::read_write;

struct StrictRuntime : testing::Test {
  ReferenceRig rig{runtime::make_reference_strict({})};

  /// Submits and expects a finding.
  void expect_finding(const testing::Matcher<std::string>& message) {
    try {
      rig.submit();
      ADD_FAILURE() << "nothing was found";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kernel);
      EXPECT_THAT(std::string(error.what()), message);
    }
    rig.reset();
  }
};

struct N {
  std::uint32_t n;
};

/// out[i] = a[i] for i < n; the faults are in what n says.
void copy_n(const CpuInvocation& call) {
  const auto u = call.uniforms<N>();
  const auto in = call.buffer<const std::uint32_t>(0);
  const auto out = call.buffer<std::uint32_t>(1);
  for (std::size_t i = 0; i < u.n; ++i) out.data()[i] = in.data()[i];
}
const Kernel& copy_kernel() {
  static const Kernel kernel =
      make_kernel({"copy", {{"in", kRead}, {"out", kWrite}}, {"n"}, copy_n});
  return kernel;
}

// The four planted kernels of "Must show 5".

TEST_F(StrictRuntime, FindsAKernelThatReadsBytesNobodyWrote) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3});  // the fourth word is undefined
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 16, kWrite}}, {4});
  expect_finding(AllOf(HasSubstr("Kernel 'copy'"), HasSubstr("task 'run copy'"),
                       HasSubstr("reads bytes that nobody wrote"), HasSubstr("byte 12"),
                       HasSubstr("binding 'out'")));
}

TEST_F(StrictRuntime, FindsAKernelThatBreaksAWritePromise) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.upload(b, 0, Words{5, 6, 7, 8});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 16, kWrite}}, {3});
  expect_finding(AllOf(HasSubstr("does not overwrite byte 12"), HasSubstr("binding 'out'"),
                       HasSubstr("16 bytes"), HasSubstr("declare it read_write")));
}

TEST_F(StrictRuntime, FindsAKernelThatWritesThroughAReadBinding) {
  const Kernel kernel =
      make_kernel({"meddler", {{"in", kRead}, {"out", kWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(1)[0] = 1;
                     call.buffer<std::uint32_t>(0)[2] += 1;
                   }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.dispatch(kernel, {1}, {{a, 0, 16}, {b, 0, 4, kWrite}});
  expect_finding(AllOf(HasSubstr("writes through binding 'in'"), HasSubstr("byte 8")));
}

TEST_F(StrictRuntime, FindsAKernelThatWritesPastItsBindingsEnd) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4, 5});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 20}, {b, 0, 16, kWrite}}, {5});
  expect_finding(
      AllOf(HasSubstr("at byte 16, past the end of binding 'out'"), HasSubstr("16 bytes")));
}

// More of the kind.

TEST_F(StrictRuntime, FindsAWriteBeforeABindingsStart) {
  const Kernel kernel =
      make_kernel({"before", {{"out", kWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(0)[0] = 1;
                     *(call.buffer<std::uint32_t>(0).data() - 2) = 1;
                   }});
  const auto a = rig.page(4096);
  rig.dispatch(kernel, {1}, {{a, 256, 4, kWrite}});
  expect_finding(HasSubstr("8 bytes before the start of binding 'out'"));
}

TEST_F(StrictRuntime, FindsAReadPastABindingsEnd) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4, 5});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 20, kWrite}}, {5});
  expect_finding(AllOf(HasSubstr("reads outside of its bindings"), HasSubstr("byte 16")));
}

TEST_F(StrictRuntime, FindsAnAccumulationIntoAWriteBinding) {
  const Kernel kernel =
      make_kernel({"accumulate", {{"out", kWrite}}, {}, [](const CpuInvocation& call) {
                     for (auto& word : call.buffer<std::uint32_t>(0)) word += 1;
                   }});
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1, 2});
  rig.dispatch(kernel, {1}, {{a, 0, 8, kWrite}});
  expect_finding(AllOf(HasSubstr("Kernel 'accumulate'"), HasSubstr("reads"), HasSubstr("byte 0")));
}

TEST_F(StrictRuntime, FindsTheCopyOfABytePromisedButNotYetWritten) {
  const Kernel kernel = make_kernel(
      {"backwards", {{"out", kWrite}, {"other", kWrite}}, {}, [](const CpuInvocation& call) {
         call.buffer<std::uint32_t>(1)[0] = call.buffer<std::uint32_t>(0)[0];
         call.buffer<std::uint32_t>(0)[0] = 1;
       }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.dispatch(kernel, {1}, {{a, 0, 4, kWrite}, {b, 0, 4, kWrite}});
  expect_finding(HasSubstr("binding 'other'"));
}

TEST_F(StrictRuntime, FindsWorkgroupCountsThatNobodyWrote) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1});
  rig.upload(b, 0, Words{1, 1});  // the third count is missing
  const Kernel kernel =
      make_kernel({"touch", {{"out", kReadWrite}}, {}, [](const CpuInvocation&) {}});
  rig.dispatch(kernel, {}, {{a, 0, 4, kReadWrite}, {b, 0, 12}}).kind = plan::CommandKind::indirect;
  expect_finding(HasSubstr("workgroup counts"));
}

TEST_F(StrictRuntime, FindsAFaultInOneTaskOfABatch) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  auto& command = rig.dispatch(copy_kernel(), {}, {{a, 0, 16}, {b, 0, 16, kWrite}});
  command.uniform_bytes = 4;
  command.uniform_offset = rig.add_uniforms({0});
  command.batch_count = 2;
  const Bytes good = rig.add_uniforms({2});
  const Bytes bad = rig.add_uniforms({1});
  rig.program().labels.emplace_back("second half");
  rig.program().batch = {{rig.add_grid({1}), good, 0, 0}, {rig.add_grid({1}), bad, 2, 2}};
  rig.program().batch_ranges = {{0, 8}, {0, 8}, {8, 8}, {8, 8}};
  expect_finding(AllOf(HasSubstr("task 'second half'"), HasSubstr("does not overwrite byte 4")));
}

// What is allowed.

TEST_F(StrictRuntime, LetsSparseWritesThroughReadWriteStand) {
  const Kernel kernel =
      make_kernel({"sparse", {{"out", kReadWrite}}, {"n"}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(0)[call.uniforms<N>().n] = 77;
                   }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.dispatch(kernel, {1}, {{a, 0, 16, kReadWrite}},
               {1});  // a first version, undefined but for one
  rig.upload(a, 8, Words{3, 4});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 12, kWrite}}, {3});
  expect_finding(AllOf(HasSubstr("Kernel 'copy'"), HasSubstr("byte 0")));
  rig.dispatch(kernel, {1}, {{a, 0, 16, kReadWrite}}, {1});
  rig.upload(a, 8, Words{3, 4});
  rig.upload(a, 0, Words{1});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 16, kWrite}}, {4});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 4), (Words{1, 77, 3, 4}));
}

TEST_F(StrictRuntime, WhatDependsOnUndefinedBytesOfAReadWriteRangeIsUndefinedAndNoFinding) {
  const Kernel kernel = make_kernel(
      {"increment", {{"x", kReadWrite}, {"copy", kWrite}}, {}, [](const CpuInvocation& call) {
         call.buffer<std::uint32_t>(0)[0] += 1;
         call.buffer<std::uint32_t>(1)[0] = call.buffer<std::uint32_t>(0)[0];
         call.buffer<std::uint32_t>(1)[1] = 5;
       }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  const auto c = rig.page(4096);
  rig.dispatch(kernel, {1}, {{a, 0, 4, kReadWrite}, {b, 0, 8, kWrite}});
  rig.submit();
  rig.dispatch(copy_kernel(), {1}, {{b, 0, 8}, {c, 0, 8, kWrite}}, {2});
  expect_finding(AllOf(HasSubstr("nobody wrote"), HasSubstr("byte 0")));
  rig.dispatch(copy_kernel(), {1}, {{b, 0, 8}, {c, 0, 4, kWrite}}, {1});
  expect_finding(HasSubstr("byte 0"));
  EXPECT_EQ(rig.read<std::uint32_t>(b, 4, 1), Words{5}) << "defined beside undefined";
}

TEST_F(StrictRuntime, UndefinedReadWriteBytesDoNotHideAnotherFault) {
  const Kernel kernel =
      make_kernel({"both", {{"in", kRead}, {"x", kReadWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(1)[1] = call.buffer<const std::uint32_t>(0)[0];
                   }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 16, Words{1});
  rig.dispatch(kernel, {1}, {{a, 0, 4}, {b, 0, 8, kReadWrite}});
  expect_finding(AllOf(HasSubstr("nobody wrote"), HasSubstr("byte 4 of binding 'x'")));
}

TEST_F(StrictRuntime, AnIncrementOfDefinedBytesIsDefined) {
  const Kernel kernel =
      make_kernel({"increment", {{"x", kReadWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(0)[call.group()[0]] += 1;
                   }});
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3});
  rig.dispatch(kernel, {2}, {{a, 0, 12, kReadWrite}});
  rig.dispatch(kernel, {2}, {{a, 0, 12, kReadWrite}});
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 3), (Words{3, 4, 3}));
}

TEST_F(StrictRuntime, UndefinedBytesStayUndefinedThroughCopies) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  const auto c = rig.page(4096);
  rig.upload(a, 0, Words{1, 2});
  rig.upload(b, 0, Words{0, 0, 0});
  rig.add(plan::CommandKind::copy, {{a, 0, 12}, {b, 0, 12, kWrite}}, "copy");
  rig.dispatch(copy_kernel(), {1}, {{b, 0, 12}, {c, 0, 8, kWrite}}, {2});
  rig.submit();
  EXPECT_EQ(rig.read<std::uint32_t>(c, 0, 2), (Words{1, 2}));
  rig.dispatch(copy_kernel(), {1}, {{b, 0, 12}, {c, 0, 12, kWrite}}, {3});
  expect_finding(AllOf(HasSubstr("nobody wrote"), HasSubstr("byte 8")));
}

TEST_F(StrictRuntime, AKernelThatReadsUndefinedBytesButDoesNotUseThemIsFine) {
  const Kernel kernel =
      make_kernel({"masked", {{"in", kRead}, {"out", kWrite}}, {}, [](const CpuInvocation& call) {
                     const auto in = call.buffer<const std::uint32_t>(0);
                     call.buffer<std::uint32_t>(1)[0] = in[0] + 0U * in[1];
                   }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1});
  rig.dispatch(kernel, {1}, {{a, 0, 8}, {b, 0, 4, kWrite}});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 1), Words{1});
}

TEST_F(StrictRuntime, ANeighboursBytesBeforeTheBaseAreNotTheKernels) {
  struct Bases {
    std::uint32_t in, out, n, from;
  };
  const Kernel kernel = make_kernel({"based",
                                     {{"in", kRead}, {"out", kWrite}},
                                     {"in_base", "out_base", "n", "from"},
                                     [](const CpuInvocation& call) {
                                       const auto u = call.uniforms<Bases>();
                                       for (std::uint32_t i = u.from; i < u.n; ++i) {
                                         call.buffer<std::uint32_t>(1)[u.out + i] =
                                             call.buffer<const std::uint32_t>(0)[u.in + i];
                                       }
                                     }});
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.upload(b, 0, Words{9, 9, 9, 9});
  rig.dispatch(kernel, {1}, {{a, 0, 16, kRead, 8}, {b, 0, 12, kWrite, 4}}, {2, 1, 2, 0});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 4), (Words{9, 3, 4, 9}));
  rig.dispatch(kernel, {1}, {{a, 0, 16, kRead, 8}, {b, 0, 12, kWrite, 4}}, {2, 0, 3, 0});
  expect_finding(HasSubstr("4 bytes before the start of binding 'out'"));
  rig.dispatch(kernel, {1}, {{a, 0, 16, kRead, 8}, {b, 0, 12, kWrite, 4}}, {1, 1, 2, 0});
  expect_finding(HasSubstr("reads outside of its bindings"));
}

TEST_F(StrictRuntime, AWriteBindingThatIsBoundReadWriteIsNoPromise) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 8}, {b, 0, 8, kReadWrite}}, {1});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 1), Words{1});
}

TEST_F(StrictRuntime, APromotedDispatchStillMayNotWriteItsInputs) {
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16, kReadWrite}, {a, 256, 16, kReadWrite}}, {4},
               Variant::promoted);
  EXPECT_EQ(rig.read<std::uint32_t>(a, 256, 4), (Words{1, 2, 3, 4}));
  const Kernel meddler =
      make_kernel({"meddler", {{"in", kRead}, {"out", kWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(1)[0] = 1;
                     call.buffer<std::uint32_t>(0)[0] = 1000;
                   }});
  rig.dispatch(meddler, {1}, {{a, 0, 16, kReadWrite}, {a, 256, 4, kReadWrite}}, {},
               Variant::promoted);
  expect_finding(HasSubstr("writes through binding 'in'"));
}

// All or nothing.

TEST_F(StrictRuntime, ARefusedSubmissionChangesNothing) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.upload(b, 0, Words{5, 6, 7, 8});
  const runtime::Ticket before = rig.submit();
  rig.upload(a, 0, Words{100});
  rig.add(plan::CommandKind::fill, {{a, 4, 4, kWrite}}, "fill");
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 16}, {b, 0, 16, kWrite}}, {4});
  rig.foreign({{b, 0, 4, kWrite}}, [](void*, std::span<const runtime::ForeignView> views) {
    *host_words(views[0]) = 12345;
  });
  rig.dispatch(copy_kernel(), {1}, {{b, 0, 16}, {a, 256, 32, kWrite}}, {4});  // breaks its promise
  expect_finding(HasSubstr("does not overwrite byte 16"));
  EXPECT_EQ(rig.backend().poll(), before);
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 4), (Words{1, 2, 3, 4}));
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 4), (Words{5, 6, 7, 8}));
  rig.dispatch(copy_kernel(), {1}, {{a, 256, 16}, {b, 0, 16, kWrite}}, {4});
  expect_finding(HasSubstr("nobody wrote"));
}

TEST_F(StrictRuntime, ASubmissionShowsAsDoneOnlyToWhoPollsOrWaits) {
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1});
  const auto page = rig.make(64, memory::PageUse::readback);
  rig.readback(a, 0, 4);
  rig.submit();
  rig.backend().map(page);
  EXPECT_EQ(rig.backend().host_state(page), runtime::HostState::mapped) << "never submitted";
  const auto which = rig.readback(a, 0, 4);
  const runtime::Ticket ticket = rig.submit();
  EXPECT_EQ(rig.backend().host_state(rig.result_page(which)), runtime::HostState::mapping);
  EXPECT_EQ(rig.backend().poll(), ticket);
  EXPECT_EQ(rig.backend().host_state(rig.result_page(which)), runtime::HostState::mapped);
}

TEST_F(StrictRuntime, ANewPageIsPoisonAndNotZeros) {
  const auto a = rig.page(4096);
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 1), Words{0xDBDBDBDB});
}

// The rule of WebGPU, its alignments and limits: one known-bad program per rule.

struct StrictRules : StrictRuntime {
  void expect_refused(const testing::Matcher<std::string>& message) {
    try {
      rig.submit();
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::internal);
      EXPECT_THAT(std::string(error.what()), message);
    }
    rig.reset();
  }
  const std::uint32_t a = rig.page(4096);
  const std::uint32_t b = rig.page(4096);
  const std::uint32_t c = rig.page(4096);
  const Kernel two_outputs =
      make_kernel({"two", {{"x", kWrite}, {"y", kWrite}}, {}, [](const CpuInvocation& call) {
                     call.buffer<std::uint32_t>(0)[0] = 1;
                     call.buffer<std::uint32_t>(1)[0] = 2;
                   }});
};

TEST_F(StrictRules, OnePageReadAndWrittenInOneDispatch) {
  rig.upload(a, 0, Words{1});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 4}, {a, 256, 4, kWrite}}, {1});
  expect_refused(AllOf(HasSubstr("task 'run copy'"), HasSubstr("written through binding 'out'"),
                       HasSubstr("read through binding 'in'"),
                       HasSubstr("page " + std::to_string(rig.handle(a).value))));
}

TEST_F(StrictRules, TwoProgramPagesThatAreOneRealPageAreOne) {
  rig.upload(a, 0, Words{1});
  rig.submit();
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 4}, {b, 256, 4, kWrite}}, {1});
  EXPECT_THROW(
      (void)rig.backend().prepare(std::make_shared<plan::Program>(rig.program()),
                                  std::vector{rig.handle(a), rig.handle(a), rig.handle(c)}),
      Error);
}

TEST_F(StrictRules, WritableRangesThatOverlapAfterRounding) {
  rig.dispatch(two_outputs, {1}, {{a, 0, 4, kWrite}, {a, 256, 4, kWrite}});
  rig.submit();
  rig.dispatch(two_outputs, {1}, {{a, 0, 260, kWrite}, {a, 256, 4, kWrite}});
  expect_refused(HasSubstr("overlap after rounding to 256"));
}

TEST_F(StrictRules, OneRangeReadTwiceIsFine) {
  const Kernel sum = make_kernel(
      {"sum", {{"x", kRead}, {"y", kRead}, {"out", kWrite}}, {}, [](const CpuInvocation& call) {
         call.buffer<std::uint32_t>(2)[0] =
             call.buffer<const std::uint32_t>(0)[0] + call.buffer<const std::uint32_t>(1)[0];
       }});
  rig.upload(a, 0, Words{21});
  rig.dispatch(sum, {1}, {{a, 0, 4}, {a, 0, 4}, {b, 0, 4, kWrite}});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 1), Words{42});
}

TEST_F(StrictRules, WorkgroupCountsOnAPageTheDispatchWrites) {
  rig.upload(a, 0, Words{1});
  rig.upload(b, 256, Words{1, 1, 1});
  rig.dispatch(copy_kernel(), {}, {{a, 0, 4}, {b, 0, 4, kWrite}, {b, 256, 12}}, {1}).kind =
      plan::CommandKind::indirect;
  expect_refused(HasSubstr("read through the workgroup counts"));
}

TEST_F(StrictRules, ACopyInsideOnePage) {
  rig.upload(a, 0, Words{1});
  rig.add(plan::CommandKind::copy, {{a, 0, 4}, {a, 256, 4, kWrite}}, "move");
  expect_refused(AllOf(HasSubstr("move"), HasSubstr("lie on one page")));
}

TEST_F(StrictRules, ABindingThatIsNotAligned) {
  rig.upload(a, 16, Words{1});
  rig.dispatch(copy_kernel(), {1}, {{a, 16, 4}, {b, 0, 4, kWrite}}, {1});
  expect_refused(AllOf(HasSubstr("begins at 16"), HasSubstr("multiple of 256")));
}

TEST_F(StrictRules, SizesThatAreNoMultipleOfFour) {
  rig.add(plan::CommandKind::fill, {{a, 0, 6, kWrite}}, "fill");
  expect_refused(HasSubstr("multiples of 4"));
}

TEST_F(StrictRules, ABindingWithoutRoomForOneElement) {
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 0}, {b, 0, 4, kWrite}}, {1});
  expect_refused(HasSubstr("needs at least 4"));
}

TEST_F(StrictRules, BoundOtherwiseThanTheKernelUsesIt) {
  rig.upload(a, 0, Words{1});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 4}, {b, 0, 4, kRead}}, {1});
  expect_refused(HasSubstr("written by the kernel but bound as read"));
  rig.upload(a, 0, Words{1});
  rig.dispatch(copy_kernel(), {1}, {{a, 0, 4, kReadWrite}, {b, 0, 4, kWrite}}, {1});
  expect_refused(HasSubstr("only read by the kernel but bound as read_write"));
}

TEST_F(StrictRules, MoreStorageBindingsThanTheLimit) {
  std::vector<std::pair<const char*, Access>> bindings;
  std::vector<At> at;
  const std::vector<const char*> names{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  for (const char* name : names) {
    bindings.emplace_back(name, kRead);
    at.push_back({a, 0, 4, kRead});
  }
  bindings.back().second = kWrite;
  at.back() = {b, 0, 4, kWrite};
  rig.dispatch(make_kernel({"nine", bindings, {}, [](const CpuInvocation&) {}}), {1}, at);
  expect_refused(AllOf(HasSubstr("9 storage bindings"), HasSubstr("limit is 8")));
}

TEST_F(StrictRules, MoreWorkgroupsThanTheLimit) {
  rig.dispatch(copy_kernel(), {65536, 1, 1}, {{a, 0, 4}, {b, 0, 4, kWrite}}, {1});
  expect_refused(AllOf(HasSubstr("65536"), HasSubstr("65535")));
}

TEST_F(StrictRules, AUniformBlockThatIsNotAligned) {
  auto& command = rig.dispatch(copy_kernel(), {1}, {{a, 0, 4}, {b, 0, 4, kWrite}}, {1, 2});
  command.uniform_offset = 4;
  command.uniform_bytes = 4;
  expect_refused(HasSubstr("uniform block"));
}

TEST_F(StrictRules, ABindingLargerThanTheLimit) {
  ConnectOptions options;
  options.limits.max_binding_bytes = 1024;
  ReferenceRig low(runtime::make_reference_strict(options));
  const auto page = low.page(4096);
  const auto other = low.page(4096);
  low.dispatch(copy_kernel(), {1}, {{page, 0, 1028}, {other, 0, 4, kWrite}}, {1});
  EXPECT_THROW(low.submit(), Error);
}

}  // namespace
}  // namespace berth::test
