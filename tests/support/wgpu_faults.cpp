// SPDX-License-Identifier: Apache-2.0
#include "support/wgpu_faults.hpp"

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

namespace berth::test {

namespace {

#define BERTH_FAULTY(X)              \
  X(AdapterRequestDevice)            \
  X(BufferMapAsync)                  \
  X(CommandEncoderFinish)            \
  X(DeviceCreateBindGroup)           \
  X(DeviceCreateBindGroupLayout)     \
  X(DeviceCreateBuffer)              \
  X(DeviceCreateCommandEncoder)      \
  X(DeviceCreateComputePipeline)     \
  X(DeviceCreatePipelineLayout)      \
  X(DeviceCreateShaderModule)        \
  X(DeviceCreateShaderModuleTrusted) \
  X(DevicePoll)                      \
  X(DevicePopErrorScope)             \
  X(DevicePushErrorScope)            \
  X(InstanceProcessEvents)           \
  X(InstanceRequestAdapter)          \
  X(QueueSubmit)                     \
  X(QueueWriteBuffer)

struct Real {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name takes none
#define BERTH_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  BERTH_FAULTY(BERTH_MEMBER)
#undef BERTH_MEMBER
};

struct PlantedError {
  WGPUErrorType type = WGPUErrorType_Validation;
  std::string message;
};
struct Scope {
  WGPUErrorFilter filter = WGPUErrorFilter_Validation;
  std::optional<PlantedError> error;
};
struct DeviceCallbacks {
  WGPUDeviceLostCallbackInfo lost{};
  std::shared_ptr<std::atomic<bool>> told;  // a client hears of a loss once: planted, or real
  WGPUUncapturedErrorCallbackInfo uncaptured{};
};

struct State {
  GetProc upstream = nullptr;
  void* upstream_user = nullptr;
  Real real;

  std::mutex mutex;  // of everything below; never held while a real function or a callback runs
  std::optional<Fault> fault;
  std::array<std::uint64_t, kFaultyCalls> calls{};
  std::uint64_t struck = 0;
  std::vector<Scope> scopes;
  std::vector<std::function<void()>> due;  // callbacks for the next processing of events
  WGPUDevice device = nullptr;
  DeviceCallbacks callbacks;
  bool lost = false;
};

std::mutex& states_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::vector<std::unique_ptr<State>>& states() {
  static auto* all = new std::vector<std::unique_ptr<State>>;  // late callbacks need them
  return *all;
}
std::atomic<State*> active_state{nullptr};
FaultyTable* alive = nullptr;

State& active() { return *active_state.load(std::memory_order_acquire); }

WGPUStringView view(const std::string& s) { return {s.data(), s.size()}; }

void lose_device(State& s, const std::string& why) {
  WGPUDeviceLostCallbackInfo lost{};
  WGPUDevice device = nullptr;
  {
    const std::lock_guard lock(s.mutex);
    if (s.lost) return;
    s.lost = true;
    device = s.device;
    if (s.callbacks.told && !s.callbacks.told->exchange(true)) lost = s.callbacks.lost;
  }
  if (lost.callback == nullptr) return;
  lost.callback(&device, WGPUDeviceLostReason_Unknown, view(why), lost.userdata1, lost.userdata2);
}

/// Counts a call. Returns the fault if it strikes this one; a loss has happened then.
std::optional<Fault> count(State& s, FaultyCall kind) {
  std::optional<Fault> strikes;
  {
    const std::lock_guard lock(s.mutex);
    const bool request = kind == FaultyCall::adapter_request || kind == FaultyCall::device_request;
    const std::uint64_t of_kind = s.calls.at(static_cast<std::size_t>(kind))++;
    std::uint64_t of_all = 0;
    if (!request) of_all = s.calls.at(static_cast<std::size_t>(FaultyCall::any))++;
    if (!s.fault) return std::nullopt;
    const bool any = s.fault->call == FaultyCall::any;
    if (any ? request : s.fault->call != kind) return std::nullopt;
    const std::uint64_t number = any ? of_all : of_kind;
    if (number < s.fault->nth || number - s.fault->nth >= s.fault->times) return std::nullopt;
    ++s.struck;
    strikes = s.fault;
  }
  if (strikes->effect == Fault::Effect::lose_device) lose_device(s, strikes->message);
  return strikes;
}

bool is_error(const std::optional<Fault>& fault) {
  return fault && fault->effect != Fault::Effect::lose_device;
}

/// Puts an error into the innermost scope for it, or tells the device's callback.
void raise(State& s, const Fault& fault) {
  const bool memory = fault.effect == Fault::Effect::out_of_memory;
  const WGPUErrorFilter filter = memory ? WGPUErrorFilter_OutOfMemory : WGPUErrorFilter_Validation;
  const WGPUErrorType type = memory ? WGPUErrorType_OutOfMemory : WGPUErrorType_Validation;
  WGPUUncapturedErrorCallbackInfo uncaptured{};
  WGPUDevice device = nullptr;
  {
    const std::lock_guard lock(s.mutex);
    for (Scope& scope : std::ranges::reverse_view(s.scopes)) {
      if (scope.filter != filter) continue;
      if (!scope.error) scope.error = PlantedError{type, fault.message};
      return;
    }
    uncaptured = s.callbacks.uncaptured;
    device = s.device;
  }
  if (uncaptured.callback == nullptr) return;
  uncaptured.callback(&device, type, view(fault.message), uncaptured.userdata1,
                      uncaptured.userdata2);
}

bool is_lost(State& s) {
  const std::lock_guard lock(s.mutex);
  return s.lost;
}

void fire_due(State& s) {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(s.mutex);
    due.swap(s.due);
  }
  for (const auto& callback : due) callback();
}

void fire_later(State& s, std::function<void()> callback) {
  const std::lock_guard lock(s.mutex);
  s.due.push_back(std::move(callback));
}

// What makes an object: the object is sound, the error is planted.

template <class Made, class... Arguments>
Made make_object(FaultyCall kind, Made (*real)(Arguments...), Arguments... arguments) {
  State& s = active();
  const std::optional<Fault> fault = count(s, kind);
  if (!is_error(fault)) return real(arguments...);
  Made made = nullptr;
  if (fault->effect != Fault::Effect::null_object) made = real(arguments...);
  raise(s, *fault);
  return made;
}

WGPUBuffer DeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* d) {
  return make_object(FaultyCall::buffer, active().real.DeviceCreateBuffer, device, d);
}
WGPUBindGroup DeviceCreateBindGroup(WGPUDevice device, const WGPUBindGroupDescriptor* d) {
  return make_object(FaultyCall::bind_group, active().real.DeviceCreateBindGroup, device, d);
}
WGPUBindGroupLayout DeviceCreateBindGroupLayout(WGPUDevice device,
                                                const WGPUBindGroupLayoutDescriptor* d) {
  return make_object(FaultyCall::bind_group_layout, active().real.DeviceCreateBindGroupLayout,
                     device, d);
}
WGPUPipelineLayout DeviceCreatePipelineLayout(WGPUDevice device,
                                              const WGPUPipelineLayoutDescriptor* d) {
  return make_object(FaultyCall::pipeline_layout, active().real.DeviceCreatePipelineLayout, device,
                     d);
}
WGPUShaderModule DeviceCreateShaderModule(WGPUDevice device, const WGPUShaderModuleDescriptor* d) {
  return make_object(FaultyCall::shader_module, active().real.DeviceCreateShaderModule, device, d);
}
WGPUShaderModule DeviceCreateShaderModuleTrusted(WGPUDevice device,
                                                 const WGPUShaderModuleDescriptor* d,
                                                 WGPUShaderRuntimeChecks checks) {
  return make_object(FaultyCall::shader_module, active().real.DeviceCreateShaderModuleTrusted,
                     device, d, checks);
}
WGPUComputePipeline DeviceCreateComputePipeline(WGPUDevice device,
                                                const WGPUComputePipelineDescriptor* d) {
  return make_object(FaultyCall::pipeline, active().real.DeviceCreateComputePipeline, device, d);
}
WGPUCommandEncoder DeviceCreateCommandEncoder(WGPUDevice device,
                                              const WGPUCommandEncoderDescriptor* d) {
  return make_object(FaultyCall::encoder, active().real.DeviceCreateCommandEncoder, device, d);
}
WGPUCommandBuffer CommandEncoderFinish(WGPUCommandEncoder encoder,
                                       const WGPUCommandBufferDescriptor* d) {
  return make_object(FaultyCall::finish, active().real.CommandEncoderFinish, encoder, d);
}

// The queue: a failed call does nothing, as does one on a lost device.

void QueueSubmit(WGPUQueue queue, std::size_t count_of, const WGPUCommandBuffer* commands) {
  State& s = active();
  const std::optional<Fault> fault = count(s, FaultyCall::submit);
  if (is_error(fault)) {
    raise(s, *fault);
  } else if (!is_lost(s)) {
    s.real.QueueSubmit(queue, count_of, commands);
  }
}

void QueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, std::uint64_t offset, const void* data,
                      std::size_t size) {
  State& s = active();
  const std::optional<Fault> fault = count(s, FaultyCall::write);
  if (is_error(fault)) {
    raise(s, *fault);
  } else if (!is_lost(s)) {
    s.real.QueueWriteBuffer(queue, buffer, offset, data, size);
  }
}

WGPUFuture BufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, std::size_t offset, std::size_t size,
                          WGPUBufferMapCallbackInfo info) {
  State& s = active();
  const std::optional<Fault> fault = count(s, FaultyCall::map);
  const bool failed = is_error(fault);
  if (!failed && !is_lost(s)) return s.real.BufferMapAsync(buffer, mode, offset, size, info);
  fire_later(s, [info, failed, message = failed ? fault->message : "the device is lost"] {
    if (info.callback == nullptr) return;
    info.callback(failed ? WGPUMapAsyncStatus_Error : WGPUMapAsyncStatus_Aborted, view(message),
                  info.userdata1, info.userdata2);
  });
  return {};
}

// Error scopes, doubled here.

void DevicePushErrorScope(WGPUDevice device, WGPUErrorFilter filter) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    s.scopes.push_back({filter, std::nullopt});
  }
  s.real.DevicePushErrorScope(device, filter);
}

struct PopWrap {
  std::optional<PlantedError> planted;
  WGPUPopErrorScopeCallbackInfo info;
};

void on_pop(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* user,
            void* /*unused*/) {
  const std::unique_ptr<PopWrap> wrap(static_cast<PopWrap*>(user));
  if (wrap->info.callback == nullptr) return;
  // The first error of a scope counts; a real one is not hidden.
  const bool real_error =
      status != WGPUPopErrorScopeStatus_Success || type != WGPUErrorType_NoError;
  if (wrap->planted && !real_error) {
    type = wrap->planted->type;
    message = view(wrap->planted->message);
  }
  wrap->info.callback(status, type, message, wrap->info.userdata1, wrap->info.userdata2);
}

WGPUFuture DevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info) {
  State& s = active();
  auto wrap = std::make_unique<PopWrap>(PopWrap{std::nullopt, info});
  {
    const std::lock_guard lock(s.mutex);
    if (!s.scopes.empty()) {
      wrap->planted = std::move(s.scopes.back().error);
      s.scopes.pop_back();
    }
  }
  info.callback = &on_pop;
  info.userdata1 = wrap.release();
  info.userdata2 = nullptr;
  return s.real.DevicePopErrorScope(device, info);
}

// Events and requests.

void InstanceProcessEvents(WGPUInstance instance) {
  State& s = active();
  s.real.InstanceProcessEvents(instance);
  fire_due(s);
}

WGPUBool DevicePoll(WGPUDevice device, WGPUBool wait, const WGPUSubmissionIndex* index) {
  State& s = active();
  const WGPUBool empty = s.real.DevicePoll(device, wait, index);
  fire_due(s);
  return empty;
}

WGPUFuture InstanceRequestAdapter(WGPUInstance instance, const WGPURequestAdapterOptions* options,
                                  WGPURequestAdapterCallbackInfo info) {
  State& s = active();
  const std::optional<Fault> fault = count(s, FaultyCall::adapter_request);
  if (!is_error(fault)) return s.real.InstanceRequestAdapter(instance, options, info);
  fire_later(s, [info, message = fault->message] {
    info.callback(WGPURequestAdapterStatus_Unavailable, nullptr, view(message), info.userdata1,
                  info.userdata2);
  });
  return {};
}

struct RequestWrap {
  State* state;
  DeviceCallbacks callbacks;
  WGPURequestDeviceCallbackInfo info;
};

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
               void* user, void* /*unused*/) {
  const std::unique_ptr<RequestWrap> wrap(static_cast<RequestWrap*>(user));
  if (device != nullptr) {
    const std::lock_guard lock(wrap->state->mutex);
    wrap->state->device = device;
    wrap->state->callbacks = wrap->callbacks;
    wrap->state->lost = false;
    wrap->state->scopes.clear();
  }
  wrap->info.callback(status, device, message, wrap->info.userdata1, wrap->info.userdata2);
}

struct LostWrap {
  std::shared_ptr<std::atomic<bool>> told;
  WGPUDeviceLostCallbackInfo lost;
};

void on_lost(const WGPUDevice* device, WGPUDeviceLostReason reason, WGPUStringView message,
             void* user, void* /*unused*/) {
  const auto* wrap = static_cast<LostWrap*>(user);
  if (wrap->told->exchange(true) || wrap->lost.callback == nullptr) return;
  wrap->lost.callback(device, reason, message, wrap->lost.userdata1, wrap->lost.userdata2);
}

WGPUFuture AdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                WGPURequestDeviceCallbackInfo info) {
  State& s = active();
  const std::optional<Fault> fault = count(s, FaultyCall::device_request);
  if (is_error(fault)) {
    fire_later(s, [info, message = fault->message] {
      info.callback(WGPURequestDeviceStatus_Error, nullptr, view(message), info.userdata1,
                    info.userdata2);
    });
    return {};
  }
  WGPUDeviceDescriptor wrapped = descriptor != nullptr ? *descriptor : WGPUDeviceDescriptor{};
  const DeviceCallbacks callbacks{wrapped.deviceLostCallbackInfo,
                                  std::make_shared<std::atomic<bool>>(false),
                                  wrapped.uncapturedErrorCallbackInfo};
  auto request = std::make_unique<RequestWrap>(RequestWrap{&s, callbacks, info});
  if (callbacks.lost.callback != nullptr) {
    // Kept for ever: wgpu-native need not call it when a device is released.
    static std::mutex mutex;
    static auto* kept = new std::vector<std::unique_ptr<LostWrap>>;
    auto lost = std::make_unique<LostWrap>(LostWrap{callbacks.told, callbacks.lost});
    wrapped.deviceLostCallbackInfo.callback = &on_lost;
    wrapped.deviceLostCallbackInfo.userdata1 = lost.get();
    wrapped.deviceLostCallbackInfo.userdata2 = nullptr;
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(lost));
  }
  info.callback = &on_device;
  info.userdata1 = request.release();
  info.userdata2 = nullptr;
  return s.real.AdapterRequestDevice(adapter, &wrapped, info);
}

void* wrapper_of(std::string_view name) {
#define BERTH_WRAPPED(function) \
  if (name == "wgpu" #function) return reinterpret_cast<void*>(&(function));
  BERTH_FAULTY(BERTH_WRAPPED)
#undef BERTH_WRAPPED
  return nullptr;
}

}  // namespace

FaultyTable::FaultyTable(std::string_view library_path)
    : FaultyTable(&WebGpuLibrary::get_proc, &WebGpuLibrary::opened(library_path)) {}

FaultyTable::FaultyTable(GetProc upstream, void* user) {
  const std::lock_guard lock(states_mutex());
  if (alive != nullptr) {
    throw std::logic_error(
        "A faulty table is alive already: entry points carry no closure, so a process can have one "
        "at a time. Destroy the first one.");
  }
  auto state = std::make_unique<State>();
  state->upstream = upstream;
  state->upstream_user = user;
#define BERTH_FILL(name) \
  state->real.name = reinterpret_cast<decltype(state->real.name)>(upstream(user, "wgpu" #name));
  BERTH_FAULTY(BERTH_FILL)
#undef BERTH_FILL
  active_state.store(state.get(), std::memory_order_release);
  states().push_back(std::move(state));
  alive = this;
}

FaultyTable::~FaultyTable() {
  disarm();
  const std::lock_guard lock(states_mutex());
  alive = nullptr;
}

void* FaultyTable::get_proc(void* /*table*/, const char* name) {
  State& s = active();
  void* real = s.upstream(s.upstream_user, name);
  if (real == nullptr) return nullptr;
  void* wrapper = wrapper_of(name);
  return wrapper != nullptr ? wrapper : real;
}

void FaultyTable::arm(const Fault& fault) {
  State& s = active();
  const std::lock_guard lock(s.mutex);
  s.fault = fault;
  s.calls = {};
  s.struck = 0;
}

void FaultyTable::disarm() {
  State& s = active();
  const std::lock_guard lock(s.mutex);
  s.fault.reset();
  s.calls = {};
  s.struck = 0;
}

std::uint64_t FaultyTable::calls(FaultyCall kind) const {
  State& s = active();
  const std::lock_guard lock(s.mutex);
  return s.calls.at(static_cast<std::size_t>(kind));
}

std::uint64_t FaultyTable::struck() const {
  State& s = active();
  const std::lock_guard lock(s.mutex);
  return s.struck;
}

}  // namespace berth::test
