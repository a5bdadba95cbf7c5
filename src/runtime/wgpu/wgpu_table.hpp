// SPDX-License-Identifier: Apache-2.0
//
// The entry points of webgpu.h that this runtime calls, and no other: every call to WebGPU goes
// through a Table. It is filled from a library or by the caller's own function, so a recorder or a
// fault injector sees everything. Several functions of wgpu-native end the process when called
// (WGPUBuffer…GetMapState, …SetLabel, InstanceWaitAny, DeviceGetAdapterInfo, …): they are not here.
#pragma once

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <functional>
#include <span>
#include <string>

namespace berth::runtime::wgpu {

// Standard functions; all of them must be there.
#define BERTH_WGPU_REQUIRED(X)                    \
  X(CreateInstance)                               \
  X(InstanceProcessEvents)                        \
  X(InstanceRelease)                              \
  X(InstanceRequestAdapter)                       \
  X(AdapterGetInfo)                               \
  X(AdapterGetLimits)                             \
  X(AdapterHasFeature)                            \
  X(AdapterInfoFreeMembers)                       \
  X(AdapterRelease)                               \
  X(AdapterRequestDevice)                         \
  X(BindGroupLayoutRelease)                       \
  X(BindGroupRelease)                             \
  X(BufferDestroy)                                \
  X(BufferGetConstMappedRange)                    \
  X(BufferGetMappedRange)                         \
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
  X(DeviceCreateBindGroup)                        \
  X(DeviceCreateBindGroupLayout)                  \
  X(DeviceCreateBuffer)                           \
  X(DeviceCreateCommandEncoder)                   \
  X(DeviceCreateComputePipeline)                  \
  X(DeviceCreatePipelineLayout)                   \
  X(DeviceCreateShaderModule)                     \
  X(DeviceGetLimits)                              \
  X(DeviceGetQueue)                               \
  X(DeviceHasFeature)                             \
  X(DevicePopErrorScope)                          \
  X(DevicePushErrorScope)                         \
  X(DeviceRelease)                                \
  X(PipelineLayoutRelease)                        \
  X(QueueOnSubmittedWorkDone)                     \
  X(QueueRelease)                                 \
  X(QueueSubmit)                                  \
  X(QueueWriteBuffer)                             \
  X(ShaderModuleRelease)

// Functions of wgpu-native alone (wgpu.h); each may be missing.
#define BERTH_WGPU_NATIVE(X)         \
  X(DeviceCreateShaderModuleTrusted) \
  X(DevicePoll)                      \
  X(GetVersion)                      \
  X(InstanceEnumerateAdapters)

/// Which library the functions belong to: what may be called differs.
enum class LibraryKind : std::uint8_t { wgpu_native, dawn, other };
[[nodiscard]] const char* name_of(LibraryKind kind);

struct Table {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name takes none
#define BERTH_WGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  BERTH_WGPU_REQUIRED(BERTH_WGPU_MEMBER)
  BERTH_WGPU_NATIVE(BERTH_WGPU_MEMBER)
#undef BERTH_WGPU_MEMBER
  LibraryKind kind = LibraryKind::other;
};

/// Address of a function by its full name, or nullptr.
using Lookup = std::function<void*(const char* name)>;

/// Fills a table. `from` names the source in errors.
/// Errors: Error(unavailable) naming the first required function that is missing.
/// Order: the kind is found by names that only one library has, without calling anything; functions
///   of wgpu-native are looked for only there.
[[nodiscard]] Table fill_table(const Lookup& lookup, const std::string& from);

/// Full names of the required functions, for tests and reports.
[[nodiscard]] std::span<const char* const> required_entry_points();

}  // namespace berth::runtime::wgpu
