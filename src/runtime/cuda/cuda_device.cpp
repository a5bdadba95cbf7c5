// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/cuda/cuda_compiler.hpp"

namespace berth::runtime::cuda {

namespace {

// Errors after which every call of the context fails: cuda.h says of each "the process must be
// terminated and relaunched", or the context is gone.
bool is_sticky(CUresult result) {
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

template <class T>
T lowered(T value, T limit) {
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

Device::Device(const ConnectOptions& options) {
  driver_ = load_driver(options.cuda);
  nvrtc_ = load_nvrtc(options.cuda);
  check_start(api().Init(0), "starting the driver");
  try {
    if (options.cuda.context != nullptr || options.cuda.stream != nullptr) {
      adopt(options.cuda);
    } else {
      make(options.cuda);
    }
    describe(options);
  } catch (...) {
    release();
    throw;
  }
}

Device::~Device() { release(); }

void Device::release() noexcept {
  if (stream_ != nullptr && owns_stream_) {
    const ContextScope scope(*this);
    api().StreamDestroy(stream_);
  }
  if (owns_context_) api().DevicePrimaryCtxRelease(device_);
}

void Device::check_start(CUresult result, const char* doing) const {
  if (result == CUDA_SUCCESS) return;
  throw Error(ErrorCode::unavailable, text("The CUDA driver ", driver_.path, " answers ",
                                           name_of(result), " while ", doing, "."));
}

void Device::adopt(const CudaOptions& given) {
  if (given.context == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "ConnectOptions::cuda gives a stream without its context: give both, or the "
                "context alone.");
  }
  context_ = static_cast<CUcontext>(given.context);
  const ContextScope scope(*this);
  check_start(api().CtxGetDevice(&device_), "asking the caller's context for its device");
  if (given.stream != nullptr) {
    stream_ = static_cast<CUstream>(given.stream);
    return;
  }
  check_start(api().StreamCreate(&stream_, CU_STREAM_NON_BLOCKING),
              "making a stream in the caller's context");
  owns_stream_ = true;
}

void Device::make(const CudaOptions& options) {
  int devices = 0;
  check_start(api().DeviceGetCount(&devices), "counting devices");
  if (options.device < 0 || options.device >= devices) {
    throw Error(devices == 0 ? ErrorCode::unavailable : ErrorCode::invalid_argument,
                text("ConnectOptions::cuda.device is ", options.device, ", and this machine has ",
                     devices, " CUDA device(s)."));
  }
  check_start(api().DeviceGet(&device_, options.device), "opening a device");
  // The primary context: what the runtime API, PyTorch and cuBLAS use in this process too.
  check_start(api().DevicePrimaryCtxRetain(&context_, device_), "making its context");
  owns_context_ = true;
  const ContextScope scope(*this);
  check_start(api().StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
  owns_stream_ = true;
}

int Device::attribute(CUdevice_attribute which) const {
  int value = 0;
  check_start(api().DeviceGetAttribute(&value, which, device_), "reading a device's attributes");
  return value;
}

void Device::describe(const ConnectOptions& options) {
  const auto limit = [this](CUdevice_attribute which) {
    return static_cast<std::uint32_t>(attribute(which));
  };
  int version = 0;
  check_start(api().DriverGetVersion(&version), "asking for its version");
  std::array<char, 256> name{};
  check_start(api().DeviceGetName(name.data(), static_cast<int>(name.size() - 1), device_),
              "asking for a device's name");
  std::size_t memory = 0;
  check_start(api().DeviceTotalMem(&memory, device_), "asking for a device's memory");
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  architecture_ = major * 10 + minor;
  memory_pools_ = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;

  Capabilities& c = capabilities_;
  c.runtime = "cuda";
  c.adapter = name.data();
  c.library = text("CUDA driver ", version / 1000, ".", version % 1000 / 10, ", NVRTC ",
                   nvrtc_.major, ".", nvrtc_.minor);
  c.target = Target::cuda;
  c.exclusion = false;
  c.copy_within_page = true;
  c.growth = plan::Growth::replace;
  c.overlap = Overlap::by_hazard;
  c.waiting = Waiting::blocking;
  c.fixed_uniform_room = true;
  c.page_granularity = 64 * kKiB;

  Limits& l = c.limits;
  const LimitOptions& wanted = options.limits;
  l.max_page_bytes = align_down(lowered<Bytes>(memory, wanted.max_page_bytes), 4);
  l.max_binding_bytes = align_down(
      lowered(l.max_page_bytes, std::min(wanted.max_binding_bytes, l.max_page_bytes)), 4);
  l.max_uniform_bytes = 64 * kKiB;
  // 16: the widest load of one thread. Slices at any multiple of it are bound where they are.
  l.offset_alignment = raised_alignment(16, wanted.offset_alignment);
  l.uniform_alignment = 16;
  l.max_storage_bindings =
      lowered(static_cast<std::uint32_t>(kMostBindings), wanted.max_storage_bindings);
  // x may be 2^31 - 1, y and z may not: one number has to serve all three.
  l.max_groups_per_dimension = lowered(std::min({limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                                                 limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                                                 limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)}),
                                       wanted.max_groups_per_dimension);
  l.max_invocations_per_group = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  l.max_group_size = {limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                      limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                      limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  l.max_group_memory = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);

  const std::string headers = include_folder_of(nvrtc_.path);
  if (architecture_ >= 53 && !headers.empty()) c.features.emplace_back("f16");
  c.facts = {
      {"library", c.library},
      {"library path", driver_.path},
      {"compiler path", nvrtc_.path},
      {"CUDA headers for kernels", headers.empty() ? "none: kernels cannot use f16" : headers},
      {"adapter", c.adapter},
      {"compute capability", text(major, ".", minor)},
      {"memory", human_bytes(memory)},
      {"multiprocessors", text(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))},
      {"device", owns_context_ ? "made by berth (primary context)" : "the caller's context"},
      {"stream", owns_stream_ ? "made by berth" : "the caller's"},
      {"pages", memory_pools_ ? "stream-ordered, from a pool of berth's" : "cuMemAlloc"},
      {"offset alignment", text(l.offset_alignment, " bytes")},
      {"storage bindings", text(l.max_storage_bindings)},
      {"workgroups per dimension", text(l.max_groups_per_dimension)},
      {"invocations per workgroup", text(l.max_invocations_per_group)},
      {"workgroup memory", human_bytes(l.max_group_memory)},
  };
}

std::string Device::name_of(CUresult result) const {
  const char* name = nullptr;
  const char* what = nullptr;
  if (api().GetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return text("an unknown error, ", static_cast<int>(result));
  }
  if (api().GetErrorString(result, &what) != CUDA_SUCCESS || what == nullptr) return name;
  return text(name, " (", what, ")");
}

bool Device::note(CUresult result, const std::string& doing) const noexcept {
  if (result == CUDA_SUCCESS || !is_sticky(result)) return false;
  mark_lost(text("the CUDA driver answers ", name_of(result), " while ", doing, "."));
  return true;
}

void Device::fail(CUresult result, const std::string& doing) const {
  check_alive();
  if (note(result, doing)) throw_lost();
  throw Error(ErrorCode::device,
              text("The CUDA driver answers ", name_of(result), " while ", doing, "."));
}

void Device::mark_lost(const std::string& why) const noexcept {
  const std::lock_guard lock(lost_mutex_);
  if (lost_.load(std::memory_order_relaxed)) return;  // the first reason is the cause
  try {
    lost_reason_ = why;
  } catch (...) {  // no memory for the text: the loss itself counts
    lost_reason_.clear();
  }
  lost_.store(true, std::memory_order_release);
}

std::optional<std::string> Device::lost_reason() const {
  if (!is_lost()) return std::nullopt;
  const std::lock_guard lock(lost_mutex_);
  return lost_reason_;
}

void Device::throw_lost() const {
  throw DeviceLost(text("The device \"", capabilities_.adapter, "\" is lost: ", *lost_reason()));
}

}  // namespace berth::runtime::cuda
