// SPDX-License-Identifier: Apache-2.0
//
// What both CPU runtimes do alike, with and without threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "berth/error.hpp"
#include "runtime/reference/reference_runtime.hpp"
#include "runtime/reference/rig.hpp"

namespace berth::test {
namespace {

using runtime::Backend;
using runtime::HostState;
using Words = std::vector<std::uint32_t>;

std::uint64_t linear_group(const CpuInvocation& call) {
  const auto g = call.group();
  const auto n = call.groups();
  return (std::uint64_t{g[2]} * n[1] + g[1]) * n[0] + g[0];
}

/// out[i] = a[i] + add, one element a workgroup.
void add_group(const CpuInvocation& call) {
  struct Uniforms {
    std::uint32_t add, n;
  };
  const auto u = call.uniforms<Uniforms>();
  const std::uint64_t i = linear_group(call);
  if (i < u.n) {
    call.buffer<std::uint32_t>(1)[i] = call.buffer<const std::uint32_t>(0)[i] + u.add;
  }
}
const Kernel& add_kernel() {
  static const Kernel kernel = make_kernel({"add",
                                            {{"a", Access::read}, {"out", Access::write}},
                                            {"add", "n"},
                                            add_group,
                                            {{"a", "out"}}});
  return kernel;
}

struct Case {
  const char* name;
  runtime::Factory factory;
  Threads threads;
};

class ReferenceRuntimes : public testing::TestWithParam<Case> {
 protected:
  static ConnectOptions options() {
    ConnectOptions o;
    o.threads = GetParam().threads;
    o.cpu_threads = 3;
    return o;
  }
  ReferenceRig rig{GetParam().factory(options())};
  const bool strict = rig.backend().capabilities().exclusion;
};

INSTANTIATE_TEST_SUITE_P(
    All, ReferenceRuntimes,
    testing::Values(Case{"fast", runtime::make_reference, Threads::allowed},
                    Case{"fast_alone", runtime::make_reference, Threads::none},
                    Case{"strict", runtime::make_reference_strict, Threads::allowed},
                    Case{"strict_alone", runtime::make_reference_strict, Threads::none}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(ReferenceRuntimes, RunsAnEmptyProgram) {
  const runtime::Ticket first = rig.submit();
  const runtime::Ticket second = rig.submit();
  EXPECT_LT(first, second);
  rig.backend().wait(second);
  EXPECT_GE(rig.backend().poll(), second);
  EXPECT_FALSE(rig.backend().lost());
}

TEST_P(ReferenceRuntimes, RunsEveryWorkgroupOfAGrid) {
  constexpr std::uint32_t kCount = 3 * 5 * 7;
  constexpr Bytes kBytes = kCount * sizeof(std::uint32_t);
  Words in(kCount);
  std::iota(in.begin(), in.end(), 10U);
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, in);
  rig.dispatch(add_kernel(), {3, 5, 7}, {{a, 0, kBytes}, {b, 0, kBytes, Access::write}},
               {5, kCount});
  Words expected = in;
  for (auto& word : expected) word += 5;
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, kCount), expected);
}

TEST_P(ReferenceRuntimes, RunsCommandsInOrderAndUploadsWhereTheyStand) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1});
  rig.dispatch(add_kernel(), {1}, {{a, 0, 4}, {b, 0, 4, Access::write}}, {10, 1});
  const auto early = rig.readback(b, 0, 4);
  rig.upload(a, 0, Words{2});
  rig.dispatch(add_kernel(), {1}, {{a, 0, 4}, {b, 0, 4, Access::write}}, {20, 1});
  const auto late = rig.readback(b, 0, 4);
  rig.submit();
  EXPECT_EQ(rig.result<std::uint32_t>(late, 1), Words{22});
  EXPECT_EQ(rig.result<std::uint32_t>(early, 1), Words{11});
}

TEST_P(ReferenceRuntimes, FillsWithZerosAndCopiesBetweenPages) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.add(plan::CommandKind::fill, {{a, 4, 8, Access::write}}, "fill");
  rig.add(plan::CommandKind::copy, {{a, 0, 16}, {b, 16, 16, Access::write}}, "copy");
  EXPECT_EQ(rig.read<std::uint32_t>(b, 16, 4), (Words{1, 0, 0, 4}));
}

TEST_P(ReferenceRuntimes, TakesWorkgroupCountsFromMemory) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  const auto counts = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3});
  rig.upload(b, 0, Words{7, 7, 7});
  const auto run = [&](const Words& groups) {
    rig.upload(counts, 0, groups);
    auto& command = rig.dispatch(add_kernel(), {},
                                 {{a, 0, 12}, {b, 0, 12, Access::write}, {counts, 0, 12}}, {1, 3});
    command.kind = plan::CommandKind::indirect;
    return rig.read<std::uint32_t>(b, 0, 3);
  };
  EXPECT_EQ(run({0, 1, 1}), (Words{7, 7, 7})) << "none";
  EXPECT_EQ(run({1, 65536, 1}), (Words{7, 7, 7})) << "above the limit: none";
  EXPECT_EQ(run({3, 1, 1}), (Words{2, 3, 4}));
}

TEST_P(ReferenceRuntimes, ALaunchOfNoWorkgroupsWritesNothing) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1});
  rig.upload(b, 0, Words{9});
  rig.dispatch(add_kernel(), {0, 1, 1}, {{a, 0, 4}, {b, 0, 4, Access::write}}, {1, 1});
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 1), Words{9});
}

TEST_P(ReferenceRuntimes, ComputesInPlaceThroughOneBinding) {
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3});
  rig.dispatch(add_kernel(), {3}, {{a, 0, 12, Access::read_write}}, {5, 3}, Variant::in_place, 1);
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 3), (Words{6, 7, 8}));
}

TEST_P(ReferenceRuntimes, RunsTheTasksOfABatchEachOnItsRanges) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.upload(b, 0, Words{0, 0, 0, 0});
  auto& command = rig.dispatch(add_kernel(), {}, {{a, 0, 16}, {b, 0, 16, Access::write}});
  command.uniform_bytes = 8;
  command.uniform_offset = rig.add_uniforms({0, 0});
  command.batch_count = 2;
  auto& program = rig.program();
  const Bytes first = rig.add_uniforms({10, 2});
  const Bytes second = rig.add_uniforms({20, 1});
  program.batch = {{rig.add_grid({2}), first, 0, 0}, {rig.add_grid({1}), second, 2, 0}};
  program.batch_ranges = {{0, 8}, {8, 8}, {12, 4}, {0, 4}};
  EXPECT_EQ(rig.read<std::uint32_t>(b, 0, 4), (Words{24, 0, 11, 12}));
}

TEST_P(ReferenceRuntimes, RunsForeignCommandsInOrderOnHostAddresses) {
  const auto a = rig.page(4096);
  rig.upload(a, 8, Words{1, 2});
  rig.foreign({{a, 8, 8, Access::read_write}},
              [](void* native, std::span<const runtime::ForeignView> views) {
                EXPECT_EQ(native, nullptr);
                auto* words = host_words(views[0]);
                words[1] = words[0] + 40;
              });
  EXPECT_EQ(rig.read<std::uint32_t>(a, 8, 2), (Words{1, 41}));
}

TEST_P(ReferenceRuntimes, APreparedProgramMayBeDroppedAsSoonAsItIsSubmitted) {
  const auto a = rig.page(4096);
  const auto b = rig.page(4096);
  rig.upload(a, 0, Words{1});
  for (int i = 0; i < 50; ++i) {
    rig.dispatch(add_kernel(), {1}, {{a, 0, 4}, {b, 0, 4, Access::write}}, {1, 1});
    rig.dispatch(add_kernel(), {1}, {{b, 0, 4}, {a, 0, 4, Access::write}}, {1, 1});
    rig.submit();  // drops Prepared, Submission and all they point to
  }
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 1), Words{101});
}

TEST_P(ReferenceRuntimes, StagingPagesHaveStates) {
  Backend& backend = rig.backend();
  const auto upload = rig.make(64, memory::PageUse::upload);
  const auto readback = rig.make(64, memory::PageUse::readback);
  const auto storage = rig.make(64, memory::PageUse::storage);
  EXPECT_EQ(backend.host_state(upload), HostState::mapped);
  EXPECT_EQ(backend.host_state(readback), HostState::unmapped);
  EXPECT_THROW(backend.map(upload), Error) << "mapped already";
  EXPECT_THROW(backend.map(storage), Error);
  EXPECT_THROW(backend.unmap(readback), Error);
  EXPECT_THROW((void)backend.host_data(readback), Error);
  EXPECT_THROW(backend.wait_mapped(readback), Error) << "nobody asked";
  backend.map(readback);
  backend.wait_mapped(readback);
  EXPECT_EQ(backend.host_state(readback), HostState::mapped);
  backend.unmap(readback);
}

TEST_P(ReferenceRuntimes, RefusesAMappedPageInASubmission) {
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1});
  const auto staging = rig.make(64, memory::PageUse::upload);  // mapped
  auto prepared = rig.backend().prepare(std::make_shared<plan::Program>(rig.program()),
                                        std::vector{rig.handle(a)});
  runtime::Submission submission;
  const std::vector<runtime::HostSlice> uploads{{staging, 0}};
  submission.uploads = uploads;
  EXPECT_THROW((void)rig.backend().submit(rig.backend().encode(*prepared, submission)), Error);
}

TEST_P(ReferenceRuntimes, RefusesProgramsThatReachOutsideTheirPages) {
  const auto a = rig.page(4096);
  rig.add(plan::CommandKind::fill, {{a, 4092, 8, Access::write}}, "too far");
  try {
    rig.submit();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_THAT(error.what(), testing::HasSubstr("too far"));
    EXPECT_THAT(error.what(), testing::HasSubstr("4096"));
  }
}

TEST_P(ReferenceRuntimes, RefusesAFreedPage) {
  const auto a = rig.page(4096);
  rig.add(plan::CommandKind::fill, {{a, 0, 8, Access::write}}, "fill");
  auto prepared = rig.backend().prepare(std::make_shared<plan::Program>(rig.program()),
                                        std::vector{rig.handle(a)});
  rig.backend().free_page(rig.handle(a));
  EXPECT_THROW((void)rig.backend().encode(*prepared, {}), Error);
}

TEST_P(ReferenceRuntimes, RefusesAKernelWithoutAFunctionForTheCpu) {
  KernelSignature signature;
  signature.name = "gpu only";
  signature.bindings = {{"out", Element::u32, Access::write, 1}};
  KernelCode code;
  code.source = "…";
  const Kernel kernel(signature, {code});
  EXPECT_FALSE(rig.backend().compiled(kernel, Variant::plain, 0));
  try {
    rig.backend().compile(kernel, Variant::plain, 0);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_THAT(error.what(), testing::HasSubstr("gpu only"));
  }
  EXPECT_FALSE(rig.backend().compiled(add_kernel(), Variant::promoted, 0));
  rig.backend().compile(add_kernel(), Variant::promoted, 0);
  EXPECT_TRUE(rig.backend().compiled(add_kernel(), Variant::promoted, 0));
}

TEST_P(ReferenceRuntimes, AKernelThatThrowsSurfacesOnceAndNamesTheTask) {
  const Kernel kernel =
      make_kernel({"thrower", {{"out", Access::write}}, {}, [](const CpuInvocation&) {
                     throw std::runtime_error("no luck");
                   }});
  const auto a = rig.page(4096);
  rig.dispatch(kernel, {8}, {{a, 0, 4, Access::write}});
  try {
    rig.backend().wait(rig.submit());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("thrower"));
    EXPECT_THAT(error.what(), testing::HasSubstr("no luck"));
  }
  rig.reset();
  rig.backend().wait(rig.submit());
}

TEST_P(ReferenceRuntimes, RefusesTheCallersEncoder) {
  auto prepared = rig.backend().prepare(std::make_shared<plan::Program>(), {});
  int encoder = 0;
  EXPECT_THROW((void)rig.backend().encode(*prepared, {}, &encoder), Unsupported);
}

TEST_P(ReferenceRuntimes, WaitingForWhatWasNeverSubmittedIsAnErrorAndNoHang) {
  EXPECT_THROW(rig.backend().wait(runtime::Ticket{1}), Error);
}

TEST_P(ReferenceRuntimes, LimitsAreLoweredAndNeverRaised) {
  ConnectOptions low = options();
  low.limits = {.max_page_bytes = 1026,
                .max_binding_bytes = 512,
                .max_storage_bindings = 2,
                .max_groups_per_dimension = 10,
                .offset_alignment = 1024};
  const auto lowered = GetParam().factory(low);
  const runtime::Limits& l = lowered->capabilities().limits;
  EXPECT_EQ(l.max_page_bytes, 1024u);
  EXPECT_EQ(l.max_binding_bytes, 512u);
  EXPECT_EQ(l.max_storage_bindings, 2u);
  EXPECT_EQ(l.max_groups_per_dimension, 10u);
  EXPECT_EQ(l.offset_alignment, 1024u);
  EXPECT_FALSE(lowered->capabilities().unaligned_bindings);
  EXPECT_EQ(lowered->max_page_bytes(), 1024u);
  const auto made = lowered->make_page({2048, memory::PageUse::storage, "large"});
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->kind, memory::StorageFailure::Kind::never_fits);

  ConnectOptions high = options();
  high.limits = {.max_page_bytes = kWholeSize,
                 .max_binding_bytes = kWholeSize,
                 .max_storage_bindings = 1000,
                 .max_groups_per_dimension = 100000,
                 .offset_alignment = 4};
  const auto same = GetParam().factory(high);
  const runtime::Limits& own = rig.backend().capabilities().limits;
  EXPECT_EQ(same->capabilities().limits.max_page_bytes, own.max_page_bytes);
  EXPECT_EQ(same->capabilities().limits.max_storage_bindings, own.max_storage_bindings);
  EXPECT_EQ(same->capabilities().limits.offset_alignment, own.offset_alignment);

  ConnectOptions wrong = options();
  wrong.limits.offset_alignment = 48;
  EXPECT_THROW((void)GetParam().factory(wrong), Error);
}

// Only the fast runtime.

TEST(ReferenceFast, AllowsWhatWebGpuForbids) {
  ReferenceRig rig(runtime::make_reference({}));
  EXPECT_FALSE(rig.backend().capabilities().exclusion);
  const auto a = rig.page(4096);
  rig.upload(a, 0, Words{1, 2, 3, 4});
  rig.dispatch(add_kernel(), {2}, {{a, 0, 8}, {a, 16, 8, Access::write}}, {5, 2});
  EXPECT_EQ(rig.read<std::uint32_t>(a, 16, 2), (Words{6, 7}));
  rig.add(plan::CommandKind::copy, {{a, 0, 12}, {a, 4, 12, Access::write}}, "overlapping");
  EXPECT_EQ(rig.read<std::uint32_t>(a, 0, 4), (Words{1, 1, 2, 3})) << "like memmove";
}

TEST(ReferenceFast, SubmitDoesNotWaitAndThePageIsTheDevicesUntilThen) {
  static std::atomic<bool> go;
  go = false;
  const Kernel slow =
      make_kernel({"slow", {{"out", Access::write}}, {}, [](const CpuInvocation& c) {
                     go.wait(false);
                     c.buffer<std::uint32_t>(0)[0] = 7;
                   }});
  ReferenceRig rig(runtime::make_reference({}));
  const auto a = rig.page(4096);
  rig.dispatch(slow, {1}, {{a, 0, 4, Access::write}});
  const auto which = rig.readback(a, 0, 4);
  const runtime::Ticket ticket = rig.submit();
  EXPECT_LT(rig.backend().poll(), ticket);
  go = true;
  go.notify_all();
  EXPECT_EQ(rig.result<std::uint32_t>(which, 1), Words{7});
  rig.backend().wait(ticket);
  EXPECT_GE(rig.backend().poll(), ticket);
}

TEST(ReferenceFast, FinishesWhatWasSubmittedWhenItIsDropped) {
  static std::atomic<int> ran;
  ran = 0;
  const Kernel kernel = make_kernel(
      {"count", {{"out", Access::read_write}}, {}, [](const CpuInvocation&) { ++ran; }});
  {
    ReferenceRig rig(runtime::make_reference({}));
    const auto a = rig.page(4096);
    for (int i = 0; i < 20; ++i) {
      rig.dispatch(kernel, {10}, {{a, 0, 4, Access::read_write}});
      rig.submit();
    }
  }
  EXPECT_EQ(ran, 200);
}

}  // namespace
}  // namespace berth::test
