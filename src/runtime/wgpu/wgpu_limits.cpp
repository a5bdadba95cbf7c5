// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_limits.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::wgpu {

namespace {

template <class T>
T at_most(T value, T limit) {
  return limit == 0 ? value : std::min(value, limit);
}

Bytes raised_alignment(Bytes device, Bytes option) {
  if (option != 0 && !std::has_single_bit(option)) {
    throw Error(ErrorCode::invalid_argument, text("LimitOptions::offset_alignment is ", option,
                                                  ", and must be a power of two."));
  }
  return std::max(device, option);
}

}  // namespace

WGPULimits adapter_limits(const Table& api, WGPUAdapter adapter) {
  WGPULimits limits = WGPU_LIMITS_INIT;
  if (api.AdapterGetLimits(adapter, &limits) != WGPUStatus_Success) {
    throw Error(ErrorCode::unavailable, "The adapter does not tell its limits.");
  }
  return limits;
}

WGPULimits device_limits(const Table& api, WGPUDevice device) {
  WGPULimits limits = WGPU_LIMITS_INIT;
  if (api.DeviceGetLimits(device, &limits) != WGPUStatus_Success) {
    throw Error(ErrorCode::unavailable, "The device does not tell its limits.");
  }
  return limits;
}

WGPULimits limits_to_request(const WGPULimits& adapter, const LimitOptions& options) {
  WGPULimits wish = WGPU_LIMITS_INIT;
  wish.maxBufferSize = adapter.maxBufferSize;
  wish.maxStorageBufferBindingSize = adapter.maxStorageBufferBindingSize;
  wish.maxUniformBufferBindingSize = adapter.maxUniformBufferBindingSize;
  wish.maxStorageBuffersPerShaderStage = adapter.maxStorageBuffersPerShaderStage;
  wish.minStorageBufferOffsetAlignment = static_cast<std::uint32_t>(
      raised_alignment(adapter.minStorageBufferOffsetAlignment, options.offset_alignment));
  wish.minUniformBufferOffsetAlignment = adapter.minUniformBufferOffsetAlignment;
  wish.maxComputeWorkgroupStorageSize = adapter.maxComputeWorkgroupStorageSize;
  wish.maxComputeInvocationsPerWorkgroup = adapter.maxComputeInvocationsPerWorkgroup;
  wish.maxComputeWorkgroupSizeX = adapter.maxComputeWorkgroupSizeX;
  wish.maxComputeWorkgroupSizeY = adapter.maxComputeWorkgroupSizeY;
  wish.maxComputeWorkgroupSizeZ = adapter.maxComputeWorkgroupSizeZ;
  wish.maxComputeWorkgroupsPerDimension = adapter.maxComputeWorkgroupsPerDimension;
  return wish;
}

Limits lowered_limits(const WGPULimits& device, const LimitOptions& options) {
  Limits limits;
  // Sizes of buffers and bindings are multiples of 4; lavapipe's largest buffer is 2 GiB - 1.
  limits.max_page_bytes =
      align_down(at_most<Bytes>(device.maxBufferSize, options.max_page_bytes), 4);
  limits.max_binding_bytes =
      align_down(at_most<Bytes>(device.maxStorageBufferBindingSize, options.max_binding_bytes), 4);
  limits.max_uniform_bytes = device.maxUniformBufferBindingSize;
  limits.offset_alignment =
      raised_alignment(device.minStorageBufferOffsetAlignment, options.offset_alignment);
  limits.uniform_alignment = device.minUniformBufferOffsetAlignment;
  limits.max_storage_bindings =
      at_most(std::min(device.maxStorageBuffersPerShaderStage, device.maxBindingsPerBindGroup),
              options.max_storage_bindings);
  limits.max_groups_per_dimension =
      at_most(device.maxComputeWorkgroupsPerDimension, options.max_groups_per_dimension);
  limits.max_invocations_per_group = device.maxComputeInvocationsPerWorkgroup;
  limits.max_group_size = {device.maxComputeWorkgroupSizeX, device.maxComputeWorkgroupSizeY,
                           device.maxComputeWorkgroupSizeZ};
  limits.max_group_memory = device.maxComputeWorkgroupStorageSize;
  return limits;
}

void add_limit_facts(const Limits& limits,
                     std::vector<std::pair<std::string, std::string>>& facts) {
  const auto add = [&](const char* name, std::string value) {
    facts.emplace_back(name, std::move(value));
  };
  add("largest page", human_bytes(limits.max_page_bytes));
  add("largest binding", human_bytes(limits.max_binding_bytes));
  add("largest uniform block", human_bytes(limits.max_uniform_bytes));
  add("offset alignment", text(limits.offset_alignment, " bytes"));
  add("uniform alignment", text(limits.uniform_alignment, " bytes"));
  add("storage bindings", text(limits.max_storage_bindings));
  add("workgroups per dimension", text(limits.max_groups_per_dimension));
  add("invocations per workgroup", text(limits.max_invocations_per_group));
  add("workgroup size", text(limits.max_group_size[0], " x ", limits.max_group_size[1], " x ",
                             limits.max_group_size[2]));
  add("workgroup memory", human_bytes(limits.max_group_memory));
}

}  // namespace berth::runtime::wgpu
