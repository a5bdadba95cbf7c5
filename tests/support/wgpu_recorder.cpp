// SPDX-License-Identifier: Apache-2.0
#include "support/wgpu_recorder.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "support/wgpu_recorder_state.hpp"

namespace berth::test {

namespace recorder {

namespace {

std::mutex& states_mutex() {
  static std::mutex mutex;
  return mutex;
}
// Reachable for ever, so that late callbacks find their state.
std::vector<std::unique_ptr<State>>& states() {
  static auto* all = new std::vector<std::unique_ptr<State>>;
  return *all;
}
std::atomic<State*> active_state{nullptr};
Recorder* alive = nullptr;

}  // namespace

State& active() { return *active_state.load(std::memory_order_acquire); }

std::string text_of(WGPUStringView s) {
  if (s.data == nullptr) return {};
  return {s.data, s.length == WGPU_STRLEN ? std::strlen(s.data) : s.length};
}

ObjectId State::device_of(WGPUDevice device) {
  {
    const std::lock_guard lock(mutex);
    if (devices.seen(device)) return devices.find(device);
  }
  WGPULimits limits{};
  if (real.DeviceGetLimits != nullptr) real.DeviceGetLimits(device, &limits);
  const std::lock_guard lock(mutex);
  if (devices.seen(device)) return devices.find(device);
  const ObjectId id = devices.make(device);
  note(DeviceSeen{id, limits.minStorageBufferOffsetAlignment,
                  limits.minUniformBufferOffsetAlignment});
  return id;
}

ObjectId State::buffer_of(WGPUBuffer buffer) {
  {
    const std::lock_guard lock(mutex);
    if (buffers.seen(buffer)) return buffers.find(buffer);
  }
  std::uint64_t size = kUnknownSize;
  std::uint64_t use = ~std::uint64_t{0};
  if (real.BufferGetSize != nullptr) size = real.BufferGetSize(buffer);
  if (real.BufferGetUsage != nullptr) use = real.BufferGetUsage(buffer);
  const std::lock_guard lock(mutex);
  if (buffers.seen(buffer)) return buffers.find(buffer);
  const ObjectId id = buffers.make(buffer);
  note(BufferMade{id, 0, size, use, false, "made elsewhere"});
  return id;
}

ObjectId State::encoder_of(WGPUCommandEncoder encoder) {
  const std::lock_guard lock(mutex);
  if (encoders.seen(encoder)) return encoders.find(encoder);
  const ObjectId id = encoders.make(encoder);
  note(EncoderMade{id, 0, "made elsewhere"});
  return id;
}

}  // namespace recorder

WebGpuLibrary::WebGpuLibrary(std::string_view path)
    : handle_(dlopen(std::string(path).c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe)
    throw std::runtime_error("The WebGPU library " + std::string(path) +
                             " does not open: " + (why == nullptr ? "no reason given" : why));
  }
}

void* WebGpuLibrary::get_proc(void* user, const char* name) {
  return dlsym(static_cast<WebGpuLibrary*>(user)->handle_, name);
}

WebGpuLibrary& WebGpuLibrary::opened(std::string_view path) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::unique_ptr<WebGpuLibrary>>;
  auto library = std::make_unique<WebGpuLibrary>(path);
  const std::lock_guard lock(mutex);
  return *kept->emplace_back(std::move(library));
}

Recorder::Recorder(std::string_view library_path)
    : Recorder(&WebGpuLibrary::get_proc, &WebGpuLibrary::opened(library_path)) {}

Recorder::Recorder(GetProc upstream, void* user) {
  using recorder::State;
  const std::lock_guard lock(recorder::states_mutex());
  if (recorder::alive != nullptr) {
    throw std::logic_error(
        "A recorder is alive already: entry points carry no closure, so a process can have one at "
        "a time. Destroy the first one.");
  }
  auto state = std::make_unique<State>();
  state->upstream = upstream;
  state->upstream_user = user;
#define BERTH_FILL(name) \
  state->real.name = reinterpret_cast<decltype(state->real.name)>(upstream(user, "wgpu" #name));
  BERTH_RECORDED(BERTH_FILL)
  BERTH_RECORDER_ASKS(BERTH_FILL)
#undef BERTH_FILL
  recorder::active_state.store(state.get(), std::memory_order_release);
  recorder::states().push_back(std::move(state));
  recorder::alive = this;
}

Recorder::~Recorder() {
  const std::lock_guard lock(recorder::states_mutex());
  recorder::State& state = recorder::active();
  const std::lock_guard state_lock(state.mutex);
  state.recording = false;
  state.record.calls = {};
  recorder::alive = nullptr;
}

void* Recorder::get_proc(void* /*recorder*/, const char* name) {
  recorder::State& state = recorder::active();
  {
    const std::lock_guard lock(state.mutex);
    state.names.insert(name);
  }
  void* real = state.upstream(state.upstream_user, name);
  if (real == nullptr) return nullptr;
  void* wrapper = recorder::object_wrapper_of(name);
  if (wrapper == nullptr) wrapper = recorder::command_wrapper_of(name);
  return wrapper != nullptr ? wrapper : real;
}

Recording Recorder::recording() const {
  recorder::State& state = recorder::active();
  const std::lock_guard lock(state.mutex);
  return state.record;
}

Recording Recorder::take() {
  recorder::State& state = recorder::active();
  const std::lock_guard lock(state.mutex);
  return std::exchange(state.record, {});
}

RecorderCounts Recorder::counts() const {
  recorder::State& state = recorder::active();
  const std::lock_guard lock(state.mutex);
  return state.counts;
}

std::vector<std::string> Recorder::names_looked_up() const {
  recorder::State& state = recorder::active();
  const std::lock_guard lock(state.mutex);
  return {state.names.begin(), state.names.end()};
}

}  // namespace berth::test
