// SPDX-License-Identifier: Apache-2.0
//
// What one recorder knows: the real functions, a number for each address, the calls so far. Private
// to the recorder. A state is never freed, since callbacks may come long after their recorder.
#pragma once

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/wgpu_recorder.hpp"
#include "support/wgpu_recording.hpp"

namespace berth::test::recorder {

// Functions that are wrapped; each may be missing.
#define BERTH_RECORDED(X)                         \
  X(AdapterRequestDevice)                         \
  X(BindGroupAddRef)                              \
  X(BindGroupRelease)                             \
  X(BufferAddRef)                                 \
  X(BufferDestroy)                                \
  X(BufferMapAsync)                               \
  X(BufferRelease)                                \
  X(BufferUnmap)                                  \
  X(CommandEncoderBeginComputePass)               \
  X(CommandEncoderClearBuffer)                    \
  X(CommandEncoderCopyBufferToBuffer)             \
  X(CommandEncoderFinish)                         \
  X(CommandEncoderResolveQuerySet)                \
  X(ComputePassEncoderDispatchWorkgroups)         \
  X(ComputePassEncoderDispatchWorkgroupsIndirect) \
  X(ComputePassEncoderEnd)                        \
  X(ComputePassEncoderSetBindGroup)               \
  X(ComputePassEncoderSetPipeline)                \
  X(ComputePipelineGetBindGroupLayout)            \
  X(DeviceCreateBindGroup)                        \
  X(DeviceCreateBindGroupLayout)                  \
  X(DeviceCreateBuffer)                           \
  X(DeviceCreateCommandEncoder)                   \
  X(DeviceCreateComputePipeline)                  \
  X(DeviceCreatePipelineLayout)                   \
  X(DevicePopErrorScope)                          \
  X(DevicePushErrorScope)                         \
  X(QueueSubmit)                                  \
  X(QueueSubmitForIndex)                          \
  X(QueueWriteBuffer)

// Functions that the recorder itself asks with.
#define BERTH_RECORDER_ASKS(X) \
  X(BufferGetSize)             \
  X(BufferGetUsage)            \
  X(DeviceGetLimits)

struct Real {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name takes none
#define BERTH_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  BERTH_RECORDED(BERTH_MEMBER)
  BERTH_RECORDER_ASKS(BERTH_MEMBER)
#undef BERTH_MEMBER
};

/// Numbers for the addresses of one kind of object. An address that comes again is a new object.
class Numbers {
 public:
  ObjectId make(const void* object) {
    if (object == nullptr) return 0;
    return ids_[object] = ++last_;
  }
  /// 0 if it was released, or is null.
  [[nodiscard]] ObjectId find(const void* object) const {
    const auto found = ids_.find(object);
    return found == ids_.end() ? 0 : found->second;
  }
  [[nodiscard]] bool seen(const void* object) const {
    return object == nullptr || ids_.contains(object);
  }
  /// From now on it counts as released.
  void retire(const void* object) { ids_[object] = 0; }
  void forget(const void* object) { ids_.erase(object); }
  ObjectId fresh() { return ++last_; }

 private:
  std::unordered_map<const void*, ObjectId> ids_;
  ObjectId last_ = 0;
};

struct LiveBuffer {
  std::uint64_t size = 0;
  std::uint32_t references = 1;
  bool has_memory = true;
};

struct State {
  GetProc upstream = nullptr;
  void* upstream_user = nullptr;
  Real real;

  std::mutex mutex;  // of everything below
  bool recording = true;
  Recording record;
  RecorderCounts counts;
  std::set<std::string> names;
  Numbers devices, buffers, layouts, pipeline_layouts, pipelines, groups, encoders, passes,
      commands, answers;
  std::unordered_map<const void*, LiveBuffer> live_buffers;
  std::unordered_map<const void*, std::uint32_t> live_groups;

  /// Precondition: the mutex is held.
  template <class T>
  void note(T call) {
    if (recording) record.calls.emplace_back(std::move(call));
  }

  // The number of an object that may have been made elsewhere; the mutex must not be held.
  ObjectId device_of(WGPUDevice device);
  ObjectId buffer_of(WGPUBuffer buffer);
  ObjectId encoder_of(WGPUCommandEncoder encoder);
};

/// The state that the wrappers write to. Precondition: there has been a recorder.
[[nodiscard]] State& active();

/// The text of a view, which may be null or null-terminated.
[[nodiscard]] std::string text_of(WGPUStringView s);

/// The wrapper of that name, or nullptr: of what makes objects, and of commands and scopes.
[[nodiscard]] void* object_wrapper_of(std::string_view name);
[[nodiscard]] void* command_wrapper_of(std::string_view name);

}  // namespace berth::test::recorder
