// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/raw_device.hpp"
#include "support/wgpu_faults.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth::test {
namespace {

using Effect = Fault::Effect;

constexpr WGPUBufferUsage kPage =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;

// Recorder on faults on library: the recorder sees what a client sees.
class FaultsOn : public testing::TestWithParam<RawAdapter> {
 protected:
  FaultyTable faults{library_of(GetParam())};
  Recorder recorder{FaultyTable::get_proc, &faults};
  RawDevice raw{GetParam(), Recorder::get_proc, &recorder};

  void release(WGPUBuffer buffer) {
    raw.api().BufferDestroy(buffer);
    raw.api().BufferRelease(buffer);
  }
  Verdict verdict() {
    return judge(recorder.recording(), {.errors = JudgeOptions::Errors::expected});
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, FaultsOn,
                         testing::Values(RawAdapter::wgpu_lavapipe, RawAdapter::dawn_null),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(FaultsOn, TheNthBufferFailsInAScope) {
  faults.arm({.call = FaultyCall::buffer, .nth = 1, .message = "Not enough memory left."});
  raw.push();
  WGPUBuffer first = raw.make_buffer(1024, kPage, "first");
  EXPECT_EQ(raw.pop(), "");
  raw.push();
  WGPUBuffer second = raw.make_buffer(1024, kPage, "second");
  EXPECT_EQ(raw.pop(), "Not enough memory left.");
  raw.push();
  WGPUBuffer third = raw.make_buffer(1024, kPage, "third");
  EXPECT_EQ(raw.pop(), "");
  EXPECT_EQ(faults.calls(FaultyCall::buffer), 3U);
  EXPECT_EQ(faults.struck(), 1U);
  release(first);
  release(second);
  release(third);
  EXPECT_TRUE(raw.uncaptured().empty());
  const Verdict v = verdict();
  EXPECT_TRUE(v.ok()) << v.text();
}

TEST_P(FaultsOn, OutOfMemoryGoesToItsOwnScope) {
  faults.arm({.call = FaultyCall::buffer, .effect = Effect::out_of_memory, .message = "no memory"});
  raw.api().DevicePushErrorScope(raw.device(), WGPUErrorFilter_OutOfMemory);
  raw.push();
  release(raw.make_buffer(1024, kPage, "page"));
  EXPECT_EQ(raw.pop(), "");
  EXPECT_EQ(raw.pop(), "no memory");
}

TEST_P(FaultsOn, AnErrorWithoutScopeIsUncaptured) {
  faults.arm({.call = FaultyCall::buffer, .message = "unseen"});
  release(raw.make_buffer(1024, kPage, "page"));
  EXPECT_THAT(raw.uncaptured(), testing::ElementsAre("unseen"));
  EXPECT_TRUE(verdict().broke(Rule::uncaptured_error));
}

TEST_P(FaultsOn, ABufferCanBeNull) {
  faults.arm({.call = FaultyCall::buffer, .effect = Effect::null_object});
  raw.push();
  EXPECT_EQ(raw.make_buffer(1024, kPage, "page"), nullptr);
  EXPECT_NE(raw.pop(), "");
  EXPECT_EQ(recorder.counts().buffers_made, 0U);
}

TEST_P(FaultsOn, AFailedFinishThatIsSubmittedAnywayIsCaughtByTheJudge) {
  WGPUBuffer source = raw.make_buffer(1024, kPage, "source");
  WGPUBuffer target = raw.make_buffer(1024, kPage, "target");
  WGPUBindGroup group = raw.make_group(source, 0, target, 0);
  faults.arm({.call = FaultyCall::finish, .message = "finish refused"});
  raw.push();
  WGPUCommandBuffer commands = raw.encode(group);
  EXPECT_EQ(raw.pop(), "finish refused");
  EXPECT_TRUE(verdict().ok()) << verdict().text();
  raw.submit(commands);
  raw.api().CommandBufferRelease(commands);
  EXPECT_TRUE(verdict().broke(Rule::submit_after_error)) << verdict().text();
  raw.api().BindGroupRelease(group);
  release(source);
  release(target);
}

TEST_P(FaultsOn, AMapFailsAtTheNextEvents) {
  WGPUBuffer buffer =
      raw.make_buffer(256, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "staging");
  faults.arm({.call = FaultyCall::map});
  EXPECT_EQ(raw.map(buffer, 256), WGPUMapAsyncStatus_Error);
  EXPECT_EQ(raw.map(buffer, 256), WGPUMapAsyncStatus_Success);
  raw.api().BufferUnmap(buffer);
  release(buffer);
  EXPECT_TRUE(verdict().ok()) << verdict().text();
}

TEST_P(FaultsOn, ALossIsToldOnceAndNothingIsForwardedAfterIt) {
  WGPUBuffer source = raw.make_buffer(1024, kPage, "source");
  WGPUBuffer target = raw.make_buffer(1024, kPage, "target");
  WGPUBindGroup group = raw.make_group(source, 0, target, 0);
  faults.arm({.call = FaultyCall::finish, .effect = Effect::lose_device, .message = "unplugged"});
  raw.push();
  WGPUCommandBuffer commands = raw.encode(group);
  EXPECT_EQ(raw.pop(), "");
  EXPECT_THAT(raw.lost(), testing::ElementsAre("unplugged"));
  EXPECT_TRUE(verdict().ok()) << verdict().text();
  raw.submit(commands);
  raw.api().CommandBufferRelease(commands);
  EXPECT_TRUE(verdict().broke(Rule::submit_after_loss));
  raw.api().BindGroupRelease(group);
  release(source);
  release(target);
  EXPECT_THAT(raw.lost(), testing::SizeIs(1));
}

TEST_P(FaultsOn, EveryCallOfAWindowCanFailInTurn) {
  WGPUBuffer source = raw.make_buffer(1024, kPage, "source");
  // Returns what the scope caught; submits only what is sound.
  const auto window = [&] {
    raw.push();
    WGPUBuffer target = raw.make_buffer(1024, kPage, "target");
    WGPUBindGroup group = raw.make_group(source, 0, target, 0);
    WGPUCommandBuffer commands = raw.encode(group);
    const Caught caught = raw.pop();
    if (caught.empty()) {
      raw.push();
      raw.submit(commands);
      const Caught late = raw.pop();
      EXPECT_TRUE(late.empty() || late == "planted") << late;
    }
    raw.api().CommandBufferRelease(commands);
    raw.api().BindGroupRelease(group);
    release(target);
    return caught;
  };
  faults.disarm();
  ASSERT_EQ(window(), "");
  const std::uint64_t calls = faults.calls();
  EXPECT_EQ(calls, 5U);  // buffer, group, encoder, finish, submit
  for (std::uint64_t n = 0; n < calls; ++n) {
    faults.arm({.nth = n, .message = "planted"});
    EXPECT_EQ(window(), n + 1 < calls ? "planted" : "") << n;
    EXPECT_EQ(faults.struck(), 1U) << n;
    faults.disarm();
    EXPECT_EQ(window(), "") << n;
  }
  release(source);
  EXPECT_TRUE(verdict().ok()) << verdict().text();
  EXPECT_EQ(recorder.counts().buffer_bytes_alive, 0U);
}

TEST(FaultyTable, FailsTheRequestForADevice) {
  FaultyTable faults(library_of(RawAdapter::dawn_null));
  faults.arm({.call = FaultyCall::device_request, .message = "no device today"});
  try {
    const RawDevice raw(RawAdapter::dawn_null, FaultyTable::get_proc, &faults);
    FAIL() << "it was made";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no device today"));
  }
  EXPECT_THROW(FaultyTable second(library_of(RawAdapter::dawn_null)), std::logic_error);
}

}  // namespace
}  // namespace berth::test
