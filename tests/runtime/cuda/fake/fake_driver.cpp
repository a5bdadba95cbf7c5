// SPDX-License-Identifier: Apache-2.0
//
// Devices, contexts, modules and errors of the fake libcuda, and its control.
#include <array>
#include <cstring>
#include <string_view>

#include "runtime/cuda/fake/fake_state.hpp"

namespace fake_cuda {

std::size_t bytes_at_address(std::uint64_t address);

namespace {

// Errors that the runtime ignores by design: it gives things back on roads where nothing may fail.
bool is_countable(std::string_view function) {
  for (const std::string_view part :
       {"Destroy", "Free", "Release", "Unload", "PopCurrent", "GetError", "PushCurrent"}) {
    if (function.find(part) != std::string_view::npos) return false;
  }
  return true;
}

bool is_sticky(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED;
}

std::map<int, int> default_attributes() {
  return {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
          {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
          {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
          {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
          {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
          {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132}};
}

char primary_context = 0;
char other_context = 0;

class OneControl final : public Control {
 public:
  void reset() override {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.calls.clear();
    s.failures.clear();
    s.countable = 0;
    s.any_failure.reset();
    s.work_failure.reset();
    s.sticky = CUDA_SUCCESS;
    s.kernels.clear();
    s.attributes = default_attributes();
    s.devices = 1;
    s.memory = std::size_t{1} << 30U;
    s.work = Work::at_once;
    s.random.seed(1);
    s.pageable_copies = 0;
    s.host_stream = {};
    s.current.clear();
    s.allocations.clear();
    s.used = 0;
    s.pools = 0;
  }
  void heal() override {
    state().sticky = CUDA_SUCCESS;
    release_work();
  }
  void fail(const char* function, int nth, int result) override {
    state().failures[function] = {state().calls[function] + nth, static_cast<CUresult>(result)};
  }
  void fail_any(int nth, int result) override {
    state().any_failure = {state().countable + nth, static_cast<CUresult>(result)};
  }
  void fail_work(int result) override { state().work_failure = static_cast<CUresult>(result); }
  [[nodiscard]] int calls(const char* function) const override {
    const auto found = state().calls.find(function);
    return found == state().calls.end() ? 0 : found->second;
  }
  [[nodiscard]] int countable_calls() const override { return state().countable; }
  void register_kernel(const std::string& source, const char* entry, int parameters,
                       KernelFunction function) override {
    state().kernels[source] = {entry, parameters, std::move(function)};
  }
  [[nodiscard]] std::size_t bytes_at(std::uint64_t address) const override {
    return bytes_at_address(address);
  }
  void set_work(Work work) override { state().work = work; }
  void release_work() override {
    const std::lock_guard lock(state().mutex);
    for (Stream* stream : state().streams) execute(*stream, stream->issued);
    execute(state().host_stream, state().host_stream.issued);
  }
  void set_seed(std::uint64_t seed) override { state().random.seed(seed); }
  void set_memory(std::size_t bytes) override { state().memory = bytes; }
  void set_devices(int devices) override { state().devices = devices; }
  void set_attribute(int attribute, int value) override { state().attributes[attribute] = value; }
  [[nodiscard]] Live live() const override {
    const State& s = state();
    Live live;
    for (const auto& [address, allocation] : s.allocations) {
      if (!allocation.device) {
        ++live.host_allocations;
        continue;
      }
      ++live.device_allocations;
      live.device_bytes += allocation.bytes;
    }
    live.events = s.events.size();
    live.streams = s.streams.size();
    live.graphs = s.graphs.size();
    live.graph_execs = s.execs.size();
    live.modules = s.modules.size();
    live.pools = s.pools;
    live.contexts = s.primary_references + s.current.size();
    return live;
  }
  [[nodiscard]] int pageable_copies() const override { return state().pageable_copies; }
  [[nodiscard]] void* host_context() override { return &other_context; }
  [[nodiscard]] void* host_stream() override { return &state().host_stream; }
  [[nodiscard]] int host_stream_work() const override {
    return static_cast<int>(state().host_stream.executed);
  }
};

}  // namespace

State& state() {
  static State one;
  if (one.attributes.empty()) one.attributes = default_attributes();
  return one;
}

CUresult enter(const char* function) {
  State& s = state();
  const int call = ++s.calls[function];
  const bool countable = is_countable(function);
  if (countable) ++s.countable;
  CUresult planned = CUDA_SUCCESS;
  if (const auto found = s.failures.find(function);
      found != s.failures.end() && found->second.first == call) {
    planned = found->second.second;
  }
  if (countable && s.any_failure && s.any_failure->first == s.countable) {
    planned = s.any_failure->second;
  }
  if (is_sticky(planned)) s.sticky = planned;
  if (planned != CUDA_SUCCESS) return planned;
  return countable ? s.sticky : CUDA_SUCCESS;
}

}  // namespace fake_cuda

using fake_cuda::state;

extern "C" {

fake_cuda::Control* fake_cuda_control() {
  static fake_cuda::OneControl control;
  return &control;
}

CUresult CUDAAPI cuInit(unsigned /*flags*/) {
  FAKE_ENTER("cuInit");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  FAKE_ENTER("cuDriverGetVersion");
  *version = 12090;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  FAKE_ENTER("cuDeviceGetCount");
  *count = state().devices;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int bytes, CUdevice /*device*/) {
  FAKE_ENTER("cuDeviceGetName");
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice /*device*/) {
  FAKE_ENTER("cuDeviceTotalMem");
  *bytes = state().memory;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice /*device*/) {
  FAKE_ENTER("cuDeviceGetAttribute");
  *value = state().attributes[which];
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice /*device*/) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  ++state().primary_references;
  *context = reinterpret_cast<CUcontext>(&fake_cuda::primary_context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice /*device*/) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease");
  --state().primary_references;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxPushCurrent");
  state().current.push_back(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  FAKE_ENTER("cuCtxPopCurrent");
  if (state().current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = state().current.back();
  state().current.pop_back();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  FAKE_ENTER("cuCtxGetDevice");
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case CUDA_ERROR_NOT_FOUND:
      *name = "CUDA_ERROR_NOT_FOUND";
      break;
    default:
      *name = "CUDA_ERROR_INVALID_VALUE";
      break;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult /*error*/, const char** what) {
  *what = "as the fake says";
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_ENTER("cuModuleLoadData");
  auto made = std::make_unique<fake_cuda::Module>();
  made->image = static_cast<const char*>(image);
  state().modules.insert(made.get());
  *module = reinterpret_cast<CUmodule>(made.release());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  FAKE_ENTER("cuModuleUnload");
  const std::unique_ptr<fake_cuda::Module> owned(reinterpret_cast<fake_cuda::Module*>(module));
  state().modules.erase(owned.get());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_ENTER("cuModuleGetFunction");
  auto& fake = *reinterpret_cast<fake_cuda::Module*>(module);
  // The image is "CUBIN " or "PTX " and the source.
  const auto known = state().kernels.find(fake.image.substr(fake.image.find(' ') + 1));
  if (known == state().kernels.end() || known->second.entry != name) return CUDA_ERROR_NOT_FOUND;
  fake_cuda::Function& made = fake.functions[name] = known->second;
  *function = reinterpret_cast<CUfunction>(&made);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute /*which*/,
                                    CUfunction /*function*/) {
  FAKE_ENTER("cuFuncGetAttribute");
  *value = state().attributes[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
  return CUDA_SUCCESS;
}

}  // extern "C"
