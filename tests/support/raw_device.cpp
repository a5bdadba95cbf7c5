// SPDX-License-Identifier: Apache-2.0
#include "support/raw_device.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>

#include "berth_build_paths.hpp"

namespace berth::test {

namespace {

constexpr std::uint64_t kRange = 256;
constexpr std::string_view kWgsl = R"(
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sink: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) { sink[id.x] = source[id.x] + 1u; }
)";

WGPUStringView view(std::string_view s) { return {s.data(), s.size()}; }
std::string text_of(WGPUStringView s) {
  if (s.data == nullptr) return {};
  return {s.data, s.length == WGPU_STRLEN ? std::strlen(s.data) : s.length};
}

// The Vulkan driver is chosen by the environment when an instance is made.
class VulkanDriver {
 public:
  explicit VulkanDriver(RawAdapter adapter) {
    if (const char* before = std::getenv(kName)) before_ = before;
    if (adapter == RawAdapter::dawn_swiftshader) {
      setenv(kName, std::string(build_paths::kSwiftShaderIcd).c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  VulkanDriver(const VulkanDriver&) = delete;
  VulkanDriver& operator=(const VulkanDriver&) = delete;
  ~VulkanDriver() {
    if (before_.empty()) {
      unsetenv(kName);
    } else {
      setenv(kName, before_.c_str(), 1);
    }
  }

 private:
  static constexpr const char* kName = "VK_ICD_FILENAMES";
  std::string before_;
};

template <class Done>
void pump_until(const RawTable& api, WGPUInstance instance, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("WebGPU did not answer within 30 seconds.");
    }
    api.InstanceProcessEvents(instance);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

const char* name_of(RawAdapter adapter) {
  switch (adapter) {
    case RawAdapter::wgpu_lavapipe:
      return "wgpu_lavapipe";
    case RawAdapter::dawn_swiftshader:
      return "dawn_swiftshader";
    case RawAdapter::dawn_null:
      return "dawn_null";
  }
  return "?";
}

std::string library_of(RawAdapter adapter) {
  return std::string(adapter == RawAdapter::wgpu_lavapipe ? build_paths::kWgpuNative
                                                          : build_paths::kDawn);
}

RawDevice::RawDevice(RawAdapter adapter, GetProc get_proc, void* user) {
#define BERTH_FILL(name) \
  api_.name = reinterpret_cast<decltype(api_.name)>(get_proc(user, "wgpu" #name));
  BERTH_RAW(BERTH_FILL)
#undef BERTH_FILL
  const VulkanDriver driver(adapter);
  instance_ = api_.CreateInstance(nullptr);
  try {
    request_adapter(adapter);
    request_device();
  } catch (...) {
    release();
    throw;
  }
  queue_ = api_.DeviceGetQueue(device_);
  make_kernel();
}

RawDevice::~RawDevice() {
  api_.ComputePipelineRelease(pipeline_);
  api_.PipelineLayoutRelease(pipeline_layout_);
  api_.BindGroupLayoutRelease(layout_);
  api_.QueueRelease(queue_);
  release();
}

void RawDevice::release() {
  if (device_ != nullptr) api_.DeviceRelease(device_);
  api_.InstanceProcessEvents(instance_);  // the lost callback points here
  if (adapter_ != nullptr) api_.AdapterRelease(adapter_);
  api_.InstanceRelease(instance_);
}

void RawDevice::request_adapter(RawAdapter adapter) {
  WGPURequestAdapterOptions options{};
  if (adapter == RawAdapter::dawn_null) options.backendType = WGPUBackendType_Null;
  if (adapter != RawAdapter::dawn_null) options.backendType = WGPUBackendType_Vulkan;
  struct Answer {
    bool here = false;
    WGPUAdapter adapter = nullptr;
    std::string message;
  } answer;
  WGPURequestAdapterCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.userdata1 = &answer;
  info.callback = [](WGPURequestAdapterStatus, WGPUAdapter made, WGPUStringView message, void* user,
                     void*) { *static_cast<Answer*>(user) = {true, made, text_of(message)}; };
  api_.InstanceRequestAdapter(instance_, &options, info);
  pump_until(api_, instance_, [&] { return answer.here; });
  if (answer.adapter == nullptr) {
    throw std::runtime_error(std::string("No adapter ") + name_of(adapter) + ": " + answer.message);
  }
  adapter_ = answer.adapter;
}

void RawDevice::request_device() {
  struct Answer {
    bool here = false;
    WGPUDevice device = nullptr;
    std::string message;
  } answer;
  WGPUDeviceDescriptor descriptor{};
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  descriptor.deviceLostCallbackInfo.userdata1 = &lost_;
  descriptor.deviceLostCallbackInfo.callback = [](const WGPUDevice*, WGPUDeviceLostReason,
                                                  WGPUStringView message, void* user, void*) {
    static_cast<std::vector<std::string>*>(user)->push_back(text_of(message));
  };
  descriptor.uncapturedErrorCallbackInfo.userdata1 = &uncaptured_;
  descriptor.uncapturedErrorCallbackInfo.callback = [](const WGPUDevice*, WGPUErrorType,
                                                       WGPUStringView message, void* user, void*) {
    static_cast<std::vector<std::string>*>(user)->push_back(text_of(message));
  };
  WGPURequestDeviceCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.userdata1 = &answer;
  info.callback = [](WGPURequestDeviceStatus, WGPUDevice made, WGPUStringView message, void* user,
                     void*) { *static_cast<Answer*>(user) = {true, made, text_of(message)}; };
  api_.AdapterRequestDevice(adapter_, &descriptor, info);
  pump_until(api_, instance_, [&] { return answer.here; });
  if (answer.device == nullptr) throw std::runtime_error("No device: " + answer.message);
  device_ = answer.device;
}

void RawDevice::make_kernel() {
  std::array<WGPUBindGroupLayoutEntry, 2> entries{};
  for (std::uint32_t i = 0; i < 2; ++i) {
    entries.at(i).binding = i;
    entries.at(i).visibility = WGPUShaderStage_Compute;
    entries.at(i).buffer.type =
        i == 0 ? WGPUBufferBindingType_ReadOnlyStorage : WGPUBufferBindingType_Storage;
  }
  WGPUBindGroupLayoutDescriptor layout{};
  layout.entryCount = entries.size();
  layout.entries = entries.data();
  layout_ = api_.DeviceCreateBindGroupLayout(device_, &layout);

  WGPUPipelineLayoutDescriptor pipeline_layout{};
  pipeline_layout.bindGroupLayoutCount = 1;
  pipeline_layout.bindGroupLayouts = &layout_;
  pipeline_layout_ = api_.DeviceCreatePipelineLayout(device_, &pipeline_layout);

  WGPUShaderSourceWGSL source{};
  source.chain.sType = WGPUSType_ShaderSourceWGSL;
  source.code = view(kWgsl);
  WGPUShaderModuleDescriptor module{};
  module.nextInChain = &source.chain;
  WGPUShaderModule shader = api_.DeviceCreateShaderModule(device_, &module);

  WGPUComputePipelineDescriptor pipeline{};
  pipeline.label = view("increment");
  pipeline.layout = pipeline_layout_;
  pipeline.compute.module = shader;
  pipeline.compute.entryPoint = view("main");
  pipeline_ = api_.DeviceCreateComputePipeline(device_, &pipeline);
  api_.ShaderModuleRelease(shader);
}

WGPUBuffer RawDevice::make_buffer(std::uint64_t size, WGPUBufferUsage usage, const char* label) {
  WGPUBufferDescriptor d{};
  d.label = view(label);
  d.size = size;
  d.usage = usage;
  return api_.DeviceCreateBuffer(device_, &d);
}

WGPUBindGroup RawDevice::make_group(WGPUBuffer source, std::uint64_t source_offset,
                                    WGPUBuffer target, std::uint64_t target_offset) {
  std::array<WGPUBindGroupEntry, 2> entries{};
  entries[0].buffer = source;
  entries[0].offset = source_offset;
  entries[0].size = kRange;
  entries[1].binding = 1;
  entries[1].buffer = target;
  entries[1].offset = target_offset;
  entries[1].size = kRange;
  WGPUBindGroupDescriptor d{};
  d.label = view("operands");
  d.layout = layout_;
  d.entryCount = entries.size();
  d.entries = entries.data();
  return api_.DeviceCreateBindGroup(device_, &d);
}

WGPUCommandBuffer RawDevice::encode(WGPUBindGroup group) {
  WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_, nullptr);
  WGPUComputePassEncoder pass = api_.CommandEncoderBeginComputePass(encoder, nullptr);
  api_.ComputePassEncoderSetPipeline(pass, pipeline_);
  api_.ComputePassEncoderSetBindGroup(pass, 0, group, 0, nullptr);
  api_.ComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
  api_.ComputePassEncoderEnd(pass);
  api_.ComputePassEncoderRelease(pass);
  WGPUCommandBuffer commands = api_.CommandEncoderFinish(encoder, nullptr);
  api_.CommandEncoderRelease(encoder);
  return commands;
}

void RawDevice::submit(WGPUCommandBuffer commands) { api_.QueueSubmit(queue_, 1, &commands); }

void RawDevice::write(WGPUBuffer buffer, const std::vector<std::uint32_t>& words) {
  api_.QueueWriteBuffer(queue_, buffer, 0, words.data(), words.size() * sizeof(std::uint32_t));
}

WGPUMapAsyncStatus RawDevice::map(WGPUBuffer buffer, std::size_t size) {
  struct Answer {
    bool here = false;
    WGPUMapAsyncStatus status = WGPUMapAsyncStatus_Error;
  } answer;
  WGPUBufferMapCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.userdata1 = &answer;
  info.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* user, void*) {
    *static_cast<Answer*>(user) = {true, status};
  };
  api_.BufferMapAsync(buffer, WGPUMapMode_Read, 0, size, info);
  pump_until(api_, instance_, [&] { return answer.here; });
  return answer.status;
}

std::vector<std::uint32_t> RawDevice::read(WGPUBuffer buffer, std::size_t words) {
  const std::size_t bytes = words * sizeof(std::uint32_t);
  WGPUBuffer staging =
      make_buffer(bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "staging");
  push();
  WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_, nullptr);
  api_.CommandEncoderCopyBufferToBuffer(encoder, buffer, 0, staging, 0, bytes);
  WGPUCommandBuffer commands = api_.CommandEncoderFinish(encoder, nullptr);
  api_.CommandEncoderRelease(encoder);
  if (const Caught caught = pop(); !caught.empty()) throw std::runtime_error(caught);
  submit(commands);
  api_.CommandBufferRelease(commands);
  std::vector<std::uint32_t> result(words);
  if (map(staging, bytes) == WGPUMapAsyncStatus_Success) {
    std::memcpy(result.data(), api_.BufferGetConstMappedRange(staging, 0, bytes), bytes);
    api_.BufferUnmap(staging);
  }
  api_.BufferDestroy(staging);
  api_.BufferRelease(staging);
  return result;
}

void RawDevice::push() const { api_.DevicePushErrorScope(device_, WGPUErrorFilter_Validation); }

Caught RawDevice::pop() const {
  Caught caught = "no answer";
  WGPUPopErrorScopeCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.userdata1 = &caught;
  info.callback = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message,
                     void* user, void*) {
    *static_cast<Caught*>(user) = type == WGPUErrorType_NoError ? "" : text_of(message);
  };
  api_.DevicePopErrorScope(device_, info);
  return caught;
}

}  // namespace berth::test
