// SPDX-License-Identifier: Apache-2.0
//
// The recorder on real libraries: wgpu-native on lavapipe, Dawn on SwiftShader, Dawn without a
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "support/raw_device.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth::test {
namespace {

constexpr WGPUBufferUsage kPage =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
constexpr std::uint64_t kPageBytes = 1024;

class RecorderOn : public testing::TestWithParam<RawAdapter> {
 protected:
  Recorder recorder{library_of(GetParam())};
  RawDevice raw{GetParam(), Recorder::get_proc, &recorder};

  void release(std::initializer_list<WGPUBuffer> buffers) {
    for (WGPUBuffer buffer : buffers) {
      raw.api().BufferDestroy(buffer);
      raw.api().BufferRelease(buffer);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, RecorderOn,
                         testing::Values(RawAdapter::wgpu_lavapipe, RawAdapter::dawn_swiftshader,
                                         RawAdapter::dawn_null),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(RecorderOn, RecordsADispatchAndForwardsIt) {
  WGPUBuffer source = raw.make_buffer(kPageBytes, kPage, "source");
  WGPUBuffer target = raw.make_buffer(kPageBytes, kPage, "target");
  std::vector<std::uint32_t> words(64);
  std::iota(words.begin(), words.end(), 100U);
  raw.write(source, words);
  WGPUBindGroup group = raw.make_group(source, 0, target, 256);
  raw.push();
  WGPUCommandBuffer commands = raw.encode(group);
  ASSERT_EQ(raw.pop(), "");
  raw.submit(commands);
  raw.api().CommandBufferRelease(commands);
  const std::vector<std::uint32_t> result = raw.read(target, 128);
  if (GetParam() != RawAdapter::dawn_null) {  // which computes nothing
    EXPECT_EQ(result[63], 0U);
    EXPECT_EQ(result[64], 101U);
    EXPECT_EQ(result[127], 164U);
  }

  const RecorderCounts counts = recorder.counts();
  EXPECT_EQ(counts.buffers_made, 3U);
  EXPECT_EQ(counts.buffer_bytes_made, 2 * kPageBytes + 512);
  EXPECT_EQ(counts.buffers_alive, 2U);
  EXPECT_EQ(counts.buffer_bytes_alive, 2 * kPageBytes);
  EXPECT_EQ(counts.bind_groups_made, 1U);
  EXPECT_EQ(counts.pipelines_made, 1U);
  EXPECT_EQ(counts.dispatches, 1U);
  EXPECT_EQ(counts.copies, 1U);
  EXPECT_EQ(counts.writes, 1U);
  EXPECT_EQ(counts.submits, 2U);
  EXPECT_EQ(counts.errors, 0U);

  const Recording recording = recorder.recording();
  const auto buffers = recording.all<BufferMade>();
  ASSERT_EQ(buffers.size(), 3U);
  EXPECT_EQ(buffers[0].label, "source");
  EXPECT_EQ(buffers[0].size, kPageBytes);
  EXPECT_EQ(buffers[0].usage, usage::kStorage | usage::kCopySource | usage::kCopyTarget);
  const auto groups = recording.all<GroupMade>();
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].entries.size(), 2U);
  EXPECT_EQ(groups[0].entries[1].buffer, buffers[1].buffer);
  EXPECT_EQ(groups[0].entries[1].offset, 256U);
  EXPECT_EQ(groups[0].entries[1].bytes, 256U);
  const auto layouts = recording.all<LayoutMade>();
  ASSERT_EQ(layouts.size(), 1U);
  EXPECT_EQ(layouts[0].entries[0].type, BindingType::read_only_storage);
  EXPECT_EQ(layouts[0].entries[1].type, BindingType::storage);
  ASSERT_EQ(recording.all<PipelineMade>().size(), 1U);
  EXPECT_EQ(recording.all<PipelineMade>()[0].label, "increment");
  const auto devices = recording.all<DeviceSeen>();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_GE(devices[0].storage_alignment, 4U);
  EXPECT_THAT(recording.all<MapAnswered>(), testing::SizeIs(1));

  const Verdict verdict = judge(recording, {.declared = {{"increment", {{0, 0}}}},
                                            .declarations = JudgeOptions::Declared::all});
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.dispatches, 1U);
  EXPECT_EQ(verdict.submitted, 2U);

  raw.api().BindGroupRelease(group);
  release({source, target});
  EXPECT_EQ(recorder.counts().buffer_bytes_alive, 0U);
  EXPECT_EQ(recorder.counts().bind_groups_alive, 0U);
}

TEST_P(RecorderOn, TheJudgeSeesTheConflictThatTheLibraryReports) {
  WGPUBuffer page = raw.make_buffer(kPageBytes, kPage, "page");
  WGPUBindGroup group = raw.make_group(page, 0, page, 512);
  raw.push();
  WGPUCommandBuffer commands = raw.encode(group);
  EXPECT_NE(raw.pop(), "") << "the library accepts a page that is read and written";
  raw.api().CommandBufferRelease(commands);
  raw.api().BindGroupRelease(group);
  release({page});

  const Verdict verdict = judge(recorder.recording());
  EXPECT_TRUE(verdict.broke(Rule::writable_and_other_use)) << verdict.text();
  EXPECT_TRUE(verdict.broke(Rule::error)) << verdict.text();
  EXPECT_THAT(verdict.text(), testing::HasSubstr("group 0 binding 1 (writable, [512, 768))"));
  EXPECT_EQ(recorder.counts().errors, 1U);
}

TEST_P(RecorderOn, PartsOfARecordingAreJudgedAsOne) {
  Judge parts;
  WGPUBuffer source = raw.make_buffer(kPageBytes, kPage, "source");
  WGPUBuffer target = raw.make_buffer(kPageBytes, kPage, "target");
  WGPUBindGroup group = raw.make_group(source, 0, target, 0);
  parts.read(recorder.take());
  for (int round = 0; round < 2; ++round) {
    raw.push();
    WGPUCommandBuffer commands = raw.encode(group);
    ASSERT_EQ(raw.pop(), "");
    raw.submit(commands);
    raw.api().CommandBufferRelease(commands);
    parts.read(recorder.take());
  }
  raw.api().BindGroupRelease(group);
  release({source, target});
  parts.read(recorder.take());
  const Verdict verdict = parts.finish();
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.dispatches, 2U);
}

TEST_P(RecorderOn, TwoDevicesOneAfterTheOtherAreToldApart) {
  const auto window = [](RawDevice& device) {
    WGPUBuffer page = device.make_buffer(kPageBytes, kPage, "page");
    device.write(page, {1, 2, 3, 4});
    EXPECT_EQ(device.read(page, 4).size(), 4U);
    device.api().BufferDestroy(page);
    device.api().BufferRelease(page);
  };
  window(raw);
  {
    RawDevice second(GetParam(), Recorder::get_proc, &recorder);
    window(second);
  }  // which is lost by being released
  window(raw);
  EXPECT_THAT(recorder.recording().all<DeviceSeen>(), testing::SizeIs(2));
  const Verdict verdict = judge(recorder.recording());
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

TEST(Recorder, RefusesASecondOne) {
  const Recorder first(library_of(RawAdapter::dawn_null));
  EXPECT_THROW(Recorder second(library_of(RawAdapter::dawn_null)), std::logic_error);
}

TEST(Recorder, NamesALibraryThatIsNotThere) {
  try {
    const Recorder recorder("/nowhere/libwebgpu.so");
    FAIL() << "it opened";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/libwebgpu.so"));
  }
}

TEST(Recorder, TellsWhatWasLookedUp) {
  Recorder recorder(library_of(RawAdapter::wgpu_lavapipe));
  EXPECT_NE(recording_get_proc(&recorder, "wgpuDeviceCreateBuffer"), nullptr);
  EXPECT_EQ(recording_get_proc(&recorder, "wgpuNoSuchFunction"), nullptr);
  EXPECT_THAT(recorder.names_looked_up(),
              testing::ElementsAre("wgpuDeviceCreateBuffer", "wgpuNoSuchFunction"));
}

}  // namespace
}  // namespace berth::test
