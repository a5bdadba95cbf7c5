// SPDX-License-Identifier: Apache-2.0
//
// A WebGPU device and one kernel, by hand: what the tests of recorder, judge and faults run on, and
// a host whose device berth adopts. Knows nothing of berth; everything goes through a GetProc.
#pragma once

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/wgpu_recorder.hpp"

namespace berth::test {

#define BERTH_RAW(X)                              \
  X(AdapterRelease)                               \
  X(AdapterRequestDevice)                         \
  X(BindGroupLayoutRelease)                       \
  X(BindGroupRelease)                             \
  X(BufferDestroy)                                \
  X(BufferGetConstMappedRange)                    \
  X(BufferMapAsync)                               \
  X(BufferRelease)                                \
  X(BufferUnmap)                                  \
  X(CommandBufferRelease)                         \
  X(CommandEncoderBeginComputePass)               \
  X(CommandEncoderClearBuffer)                    \
  X(CommandEncoderCopyBufferToBuffer)             \
  X(CommandEncoderFinish)                         \
  X(CommandEncoderRelease)                        \
  X(ComputePassEncoderDispatchWorkgroups)         \
  X(ComputePassEncoderDispatchWorkgroupsIndirect) \
  X(ComputePassEncoderEnd)                        \
  X(ComputePassEncoderRelease)                    \
  X(ComputePassEncoderSetBindGroup)               \
  X(ComputePassEncoderSetPipeline)                \
  X(ComputePipelineRelease)                       \
  X(CreateInstance)                               \
  X(DeviceCreateBindGroup)                        \
  X(DeviceCreateBindGroupLayout)                  \
  X(DeviceCreateBuffer)                           \
  X(DeviceCreateCommandEncoder)                   \
  X(DeviceCreateComputePipeline)                  \
  X(DeviceCreatePipelineLayout)                   \
  X(DeviceCreateShaderModule)                     \
  X(DeviceGetQueue)                               \
  X(DevicePopErrorScope)                          \
  X(DevicePushErrorScope)                         \
  X(DeviceRelease)                                \
  X(InstanceProcessEvents)                        \
  X(InstanceRelease)                              \
  X(InstanceRequestAdapter)                       \
  X(PipelineLayoutRelease)                        \
  X(QueueRelease)                                 \
  X(QueueSubmit)                                  \
  X(QueueWriteBuffer)                             \
  X(ShaderModuleRelease)

struct RawTable {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name takes none
#define BERTH_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  BERTH_RAW(BERTH_MEMBER)
#undef BERTH_MEMBER
};

enum class RawAdapter : std::uint8_t {
  wgpu_lavapipe,
  dawn_swiftshader,
  dawn_null,
};
[[nodiscard]] const char* name_of(RawAdapter adapter);
/// Path of the library that drives it.
[[nodiscard]] std::string library_of(RawAdapter adapter);

/// What a scope caught, "" = nothing.
using Caught = std::string;

class RawDevice {
 public:
  /// Errors: std::runtime_error if there is no such adapter.
  RawDevice(RawAdapter adapter, GetProc get_proc, void* user);
  RawDevice(const RawDevice&) = delete;
  RawDevice& operator=(const RawDevice&) = delete;
  ~RawDevice();

  [[nodiscard]] WGPUBuffer make_buffer(std::uint64_t size, WGPUBufferUsage usage,
                                       const char* label);
  /// A bind group of the kernel's: `source` read-only, `target` writable, 256 bytes each.
  [[nodiscard]] WGPUBindGroup make_group(WGPUBuffer source, std::uint64_t source_offset,
                                         WGPUBuffer target, std::uint64_t target_offset);
  /// target[i] = source[i] + 1 for 64 words, in an encoder and a pass of its own, then finish.
  [[nodiscard]] WGPUCommandBuffer encode(WGPUBindGroup group);
  void submit(WGPUCommandBuffer commands);
  void write(WGPUBuffer buffer, const std::vector<std::uint32_t>& words);
  /// The first words of a buffer, through a staging buffer. Precondition: it can be copied from.
  [[nodiscard]] std::vector<std::uint32_t> read(WGPUBuffer buffer, std::size_t words);
  /// Maps for reading and waits for the answer.
  [[nodiscard]] WGPUMapAsyncStatus map(WGPUBuffer buffer, std::size_t size);

  void push() const;
  [[nodiscard]] Caught pop() const;

  [[nodiscard]] const RawTable& api() const { return api_; }
  [[nodiscard]] WGPUInstance instance() const { return instance_; }
  [[nodiscard]] WGPUAdapter adapter() const { return adapter_; }
  [[nodiscard]] WGPUDevice device() const { return device_; }
  [[nodiscard]] WGPUQueue queue() const { return queue_; }
  [[nodiscard]] const std::vector<std::string>& lost() const { return lost_; }
  [[nodiscard]] const std::vector<std::string>& uncaptured() const { return uncaptured_; }

 private:
  void request_adapter(RawAdapter adapter);
  void request_device();
  void make_kernel();
  void release();

  RawTable api_;
  WGPUInstance instance_ = nullptr;
  WGPUAdapter adapter_ = nullptr;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  WGPUBindGroupLayout layout_ = nullptr;
  WGPUPipelineLayout pipeline_layout_ = nullptr;
  WGPUComputePipeline pipeline_ = nullptr;
  std::vector<std::string> lost_;
  std::vector<std::string> uncaptured_;
};

}  // namespace berth::test
