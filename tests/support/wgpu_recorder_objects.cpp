// SPDX-License-Identifier: Apache-2.0
//
// The wrappers of what makes and drops objects: note, then forward; what makes one forwards first.
// The mutex is never held while a real function runs, since that may call back.
#include <memory>
#include <string_view>

#include "support/wgpu_recorder_state.hpp"

namespace berth::test::recorder {

namespace {

BindingType type_of(const WGPUBindGroupLayoutEntry& entry) {
  switch (entry.buffer.type) {
    case WGPUBufferBindingType_Uniform:
    case WGPUBufferBindingType_Undefined:  // the default
      return BindingType::uniform;
    case WGPUBufferBindingType_Storage:
      return BindingType::storage;
    case WGPUBufferBindingType_ReadOnlyStorage:
      return BindingType::read_only_storage;
    default:
      return BindingType::other;
  }
}

// Devices and their callbacks.

struct DeviceWrap {
  State* state;
  WGPUDeviceLostCallbackInfo lost;
  WGPUUncapturedErrorCallbackInfo uncaptured;
  ObjectId device = 0;  // none before it is made
};
struct RequestWrap {
  State* state;
  WGPURequestDeviceCallbackInfo info;
  DeviceWrap* device;
};

void on_lost(const WGPUDevice* device, WGPUDeviceLostReason reason, WGPUStringView message,
             void* user, void* /*unused*/) {
  const auto* wrap = static_cast<DeviceWrap*>(user);
  // Released or never made: nothing that a client could have noticed.
  if (reason == WGPUDeviceLostReason_Unknown || reason == WGPUDeviceLostReason_Destroyed) {
    const std::lock_guard lock(wrap->state->mutex);
    wrap->state->note(DeviceWasLost{wrap->device, text_of(message)});
  }
  if (wrap->lost.callback != nullptr) {
    wrap->lost.callback(device, reason, message, wrap->lost.userdata1, wrap->lost.userdata2);
  }
}

void on_uncaptured(const WGPUDevice* device, WGPUErrorType type, WGPUStringView message, void* user,
                   void* /*unused*/) {
  const auto* wrap = static_cast<DeviceWrap*>(user);
  {
    const std::lock_guard lock(wrap->state->mutex);
    ++wrap->state->counts.errors;
    wrap->state->note(ErrorUncaptured{text_of(message)});
  }
  if (wrap->uncaptured.callback != nullptr) {
    wrap->uncaptured.callback(device, type, message, wrap->uncaptured.userdata1,
                              wrap->uncaptured.userdata2);
  }
}

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
               void* user, void* /*unused*/) {
  const std::unique_ptr<RequestWrap> wrap(static_cast<RequestWrap*>(user));
  {
    const std::lock_guard lock(wrap->state->mutex);
    wrap->state->devices.forget(device);  // an older device may have had this address
  }
  if (device != nullptr) wrap->device->device = wrap->state->device_of(device);
  if (wrap->info.callback != nullptr) {
    wrap->info.callback(status, device, message, wrap->info.userdata1, wrap->info.userdata2);
  }
}

// Both callbacks are set even where the caller has none, so that no error goes unseen.
WGPUFuture AdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                WGPURequestDeviceCallbackInfo info) {
  State& s = active();
  WGPUDeviceDescriptor wrapped = descriptor != nullptr ? *descriptor : WGPUDeviceDescriptor{};
  // Kept for ever: the device calls it to its end.
  static std::mutex mutex;
  static auto* kept = new std::vector<std::unique_ptr<DeviceWrap>>;
  auto wrap = std::make_unique<DeviceWrap>(
      DeviceWrap{&s, wrapped.deviceLostCallbackInfo, wrapped.uncapturedErrorCallbackInfo, 0});
  DeviceWrap* const device = wrap.get();
  if (wrapped.deviceLostCallbackInfo.callback == nullptr) {
    wrapped.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  }
  wrapped.deviceLostCallbackInfo.callback = &on_lost;
  wrapped.deviceLostCallbackInfo.userdata1 = wrap.get();
  wrapped.deviceLostCallbackInfo.userdata2 = nullptr;
  wrapped.uncapturedErrorCallbackInfo.callback = &on_uncaptured;
  wrapped.uncapturedErrorCallbackInfo.userdata1 = wrap.get();
  wrapped.uncapturedErrorCallbackInfo.userdata2 = nullptr;
  {
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(wrap));
  }
  auto request = std::make_unique<RequestWrap>(RequestWrap{&s, info, device});
  info.callback = &on_device;
  info.userdata1 = request.release();
  info.userdata2 = nullptr;
  return s.real.AdapterRequestDevice(adapter, &wrapped, info);
}

// Buffers.

// Precondition: the mutex is held.
void lose_memory(State& s, LiveBuffer& buffer) {
  if (!buffer.has_memory) return;
  buffer.has_memory = false;
  --s.counts.buffers_alive;
  s.counts.buffer_bytes_alive -= buffer.size;
}

WGPUBuffer DeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* d) {
  State& s = active();
  const ObjectId device_id = s.device_of(device);
  WGPUBuffer buffer = s.real.DeviceCreateBuffer(device, d);
  const std::lock_guard lock(s.mutex);
  const ObjectId id = s.buffers.make(buffer);
  if (buffer != nullptr) {
    s.live_buffers[buffer] = {.size = d->size};
    ++s.counts.buffers_made;
    ++s.counts.buffers_alive;
    s.counts.buffer_bytes_made += d->size;
    s.counts.buffer_bytes_alive += d->size;
  }
  s.note(BufferMade{id, device_id, d->size, d->usage, d->mappedAtCreation != WGPU_FALSE,
                    text_of(d->label)});
  return buffer;
}

void BufferAddRef(WGPUBuffer buffer) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.live_buffers.find(buffer);
    if (found != s.live_buffers.end()) ++found->second.references;
  }
  s.real.BufferAddRef(buffer);
}

void BufferRelease(WGPUBuffer buffer) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.live_buffers.find(buffer);
    if (found != s.live_buffers.end() && --found->second.references == 0) {
      lose_memory(s, found->second);
      s.live_buffers.erase(found);
      s.note(BufferReleased{s.buffers.find(buffer)});
      s.buffers.retire(buffer);
    }
  }
  s.real.BufferRelease(buffer);
}

void BufferDestroy(WGPUBuffer buffer) {
  State& s = active();
  const ObjectId id = s.buffer_of(buffer);
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.live_buffers.find(buffer);
    if (found != s.live_buffers.end()) lose_memory(s, found->second);
    s.note(BufferDestroyed{id});
  }
  s.real.BufferDestroy(buffer);
}

void QueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, std::uint64_t offset, const void* data,
                      std::size_t size) {
  State& s = active();
  const ObjectId id = s.buffer_of(buffer);
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.writes;
    s.note(BufferWritten{id, offset, size});
  }
  s.real.QueueWriteBuffer(queue, buffer, offset, data, size);
}

struct MapWrap {
  State* state;
  ObjectId buffer;
  WGPUBufferMapCallbackInfo info;
};

void on_map(WGPUMapAsyncStatus status, WGPUStringView message, void* user, void* /*unused*/) {
  const std::unique_ptr<MapWrap> wrap(static_cast<MapWrap*>(user));
  {
    const std::lock_guard lock(wrap->state->mutex);
    wrap->state->note(
        MapAnswered{wrap->buffer, status == WGPUMapAsyncStatus_Success, text_of(message)});
  }
  if (wrap->info.callback != nullptr) {
    wrap->info.callback(status, message, wrap->info.userdata1, wrap->info.userdata2);
  }
}

WGPUFuture BufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, std::size_t offset, std::size_t size,
                          WGPUBufferMapCallbackInfo info) {
  State& s = active();
  auto wrap = std::make_unique<MapWrap>(MapWrap{&s, s.buffer_of(buffer), info});
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.maps;
    s.note(MapAsked{wrap->buffer, offset, size});
  }
  info.callback = &on_map;
  info.userdata1 = wrap.release();
  info.userdata2 = nullptr;
  return s.real.BufferMapAsync(buffer, mode, offset, size, info);
}

void BufferUnmap(WGPUBuffer buffer) {
  State& s = active();
  const ObjectId id = s.buffer_of(buffer);
  {
    const std::lock_guard lock(s.mutex);
    s.note(Unmapped{id});
  }
  s.real.BufferUnmap(buffer);
}

// Layouts, pipelines, bind groups.

WGPUBindGroupLayout DeviceCreateBindGroupLayout(WGPUDevice device,
                                                const WGPUBindGroupLayoutDescriptor* d) {
  State& s = active();
  WGPUBindGroupLayout layout = s.real.DeviceCreateBindGroupLayout(device, d);
  LayoutMade made;
  for (std::size_t i = 0; i < d->entryCount; ++i) {
    const WGPUBindGroupLayoutEntry& e = d->entries[i];
    made.entries.push_back(
        {e.binding, type_of(e), e.buffer.hasDynamicOffset != WGPU_FALSE, e.buffer.minBindingSize});
  }
  const std::lock_guard lock(s.mutex);
  made.layout = s.layouts.make(layout);
  ++s.counts.layouts_made;
  s.note(std::move(made));
  return layout;
}

WGPUBindGroupLayout ComputePipelineGetBindGroupLayout(WGPUComputePipeline pipeline,
                                                      std::uint32_t index) {
  State& s = active();
  WGPUBindGroupLayout layout = s.real.ComputePipelineGetBindGroupLayout(pipeline, index);
  const std::lock_guard lock(s.mutex);
  // An explicit layout may come back as itself: what is known of it stays.
  if (s.layouts.find(layout) == 0) s.note(LayoutMade{s.layouts.make(layout), {}, false});
  return layout;
}

WGPUPipelineLayout DeviceCreatePipelineLayout(WGPUDevice device,
                                              const WGPUPipelineLayoutDescriptor* d) {
  State& s = active();
  WGPUPipelineLayout layout = s.real.DeviceCreatePipelineLayout(device, d);
  const std::lock_guard lock(s.mutex);
  PipelineLayoutMade made{s.pipeline_layouts.make(layout), {}};
  for (std::size_t i = 0; i < d->bindGroupLayoutCount; ++i) {
    made.groups.push_back(s.layouts.find(d->bindGroupLayouts[i]));
  }
  s.note(std::move(made));
  return layout;
}

WGPUComputePipeline DeviceCreateComputePipeline(WGPUDevice device,
                                                const WGPUComputePipelineDescriptor* d) {
  State& s = active();
  WGPUComputePipeline pipeline = s.real.DeviceCreateComputePipeline(device, d);
  const std::lock_guard lock(s.mutex);
  ++s.counts.pipelines_made;
  s.note(PipelineMade{s.pipelines.make(pipeline), s.pipeline_layouts.find(d->layout),
                      text_of(d->label), text_of(d->compute.entryPoint)});
  return pipeline;
}

WGPUBindGroup DeviceCreateBindGroup(WGPUDevice device, const WGPUBindGroupDescriptor* d) {
  State& s = active();
  GroupMade made;
  made.label = text_of(d->label);
  for (std::size_t i = 0; i < d->entryCount; ++i) {
    const WGPUBindGroupEntry& e = d->entries[i];
    made.entries.push_back({e.binding, s.buffer_of(e.buffer), e.offset, e.size});
  }
  WGPUBindGroup group = s.real.DeviceCreateBindGroup(device, d);
  const std::lock_guard lock(s.mutex);
  for (std::size_t i = 0; i < d->entryCount; ++i) {
    GroupEntry& e = made.entries[i];
    if (e.bytes != WGPU_WHOLE_SIZE) continue;
    const auto found = s.live_buffers.find(d->entries[i].buffer);
    const bool inside = found != s.live_buffers.end() && e.offset <= found->second.size;
    e.bytes = inside ? found->second.size - e.offset : kUnknownSize;
  }
  made.layout = s.layouts.find(d->layout);
  made.group = s.groups.make(group);
  ++s.counts.bind_groups_made;
  if (group != nullptr) {
    ++s.counts.bind_groups_alive;
    s.live_groups[group] = 1;
  }
  s.note(std::move(made));
  return group;
}

void BindGroupAddRef(WGPUBindGroup group) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.live_groups.find(group);
    if (found != s.live_groups.end()) ++found->second;
  }
  s.real.BindGroupAddRef(group);
}

void BindGroupRelease(WGPUBindGroup group) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.live_groups.find(group);
    if (found != s.live_groups.end() && --found->second == 0) {
      s.live_groups.erase(found);
      --s.counts.bind_groups_alive;
      s.groups.retire(group);
    }
  }
  s.real.BindGroupRelease(group);
}

}  // namespace

void* object_wrapper_of(std::string_view name) {
#define BERTH_WRAPPED(function) \
  if (name == "wgpu" #function) return reinterpret_cast<void*>(&(function));
  BERTH_WRAPPED(AdapterRequestDevice)
  BERTH_WRAPPED(BindGroupAddRef)
  BERTH_WRAPPED(BindGroupRelease)
  BERTH_WRAPPED(BufferAddRef)
  BERTH_WRAPPED(BufferDestroy)
  BERTH_WRAPPED(BufferMapAsync)
  BERTH_WRAPPED(BufferRelease)
  BERTH_WRAPPED(BufferUnmap)
  BERTH_WRAPPED(ComputePipelineGetBindGroupLayout)
  BERTH_WRAPPED(DeviceCreateBindGroup)
  BERTH_WRAPPED(DeviceCreateBindGroupLayout)
  BERTH_WRAPPED(DeviceCreateBuffer)
  BERTH_WRAPPED(DeviceCreateComputePipeline)
  BERTH_WRAPPED(DeviceCreatePipelineLayout)
  BERTH_WRAPPED(QueueWriteBuffer)
#undef BERTH_WRAPPED
  return nullptr;
}

}  // namespace berth::test::recorder
