// SPDX-License-Identifier: Apache-2.0
//
// How a client is connected. Plain data with defaults; every field may be left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/units.hpp"

namespace berth {

/// How tensors are given memory.
enum class Policy : std::uint8_t {
  window,      ///< the whole window is placed at once (default)
  per_task,    ///< each tensor is mapped when its task is registered, conflicting pages excluded
  exclusive,   ///< one buffer per tensor
  read_write,  ///< every binding read_write where possible: the baseline of other runtimes
};
[[nodiscard]] const char* name_of(Policy policy);

/// What a planned window aims for.
enum class MemoryMode : std::uint8_t {
  automatic,  ///< most_overlap where the runtime overlaps, least_memory elsewhere
  least_memory,
  most_overlap,
};

enum class Threads : std::uint8_t { allowed, none };
enum class Events : std::uint8_t {
  pumped,      ///< the library pumps the device's events while it waits
  host_pumps,  ///< only the host pumps them
};
enum class Check : std::uint8_t {
  always,  ///< the independent checker proves every plan before submission (default)
  never,
};
enum class Repairs : std::uint8_t { allowed, forbidden };
enum class Explain : std::uint8_t {
  nothing,
  plans,  ///< the text of each window's plan is kept for Client::last_plan()
};
enum class Batch : std::uint8_t { automatic, never, always };

/// Limits a device is lowered to; 0 = the device's own. Raising one above the device's has no
/// effect.
struct LimitOptions {
  Bytes max_page_bytes = 0;
  Bytes max_binding_bytes = 0;
  std::uint32_t max_storage_bindings = 0;
  std::uint32_t max_groups_per_dimension = 0;
  /// Raises the offset alignment (256 = the portable value); lower than the device's has no effect.
  Bytes offset_alignment = 0;
};

/// A WebGPU library, or a device of the caller's. See berth/interop.hpp for the exact contract.
struct WebGpuOptions {
  std::string library{};  ///< path or file name; empty = the default search
  /// Address of an entry point by name, or nullptr if it has none; given instead of a library.
  using GetProc = void* (*)(void* user, const char* name);
  GetProc get_proc = nullptr;
  void* get_proc_user = nullptr;
  void* instance = nullptr;  ///< WGPUInstance, WGPUAdapter, WGPUDevice, WGPUQueue of the caller's,
  void* adapter = nullptr;   ///< all or none but the adapter, which may be left out
  void* device = nullptr;
  void* queue = nullptr;
  std::string adapter_name{};  ///< part of an adapter's name to choose by; empty = the fastest
  std::string backend{};       ///< "vulkan", "null", …; empty = the library's choice
};

/// A CUDA device, or a context and a stream of the caller's.
struct CudaOptions {
  /// CUcontext to work in; null = the primary context of `device`, the one of cudart and PyTorch.
  void* context = nullptr;
  /// CUstream of that context: berth's work runs there in program order with the caller's. Null =
  /// a stream of berth's own.
  void* stream = nullptr;
  std::string driver_library{};  ///< libcuda; empty = $BERTH_CUDA_DRIVER, then the loader's search
  std::string nvrtc_library{};   ///< libnvrtc; empty = $BERTH_NVRTC, then the loader's search
  int device = 0;                ///< number of the device; not used with a context
};

struct ConnectOptions {
  /// "wgpu", "reference", "reference-strict", "cuda"; empty = the best one here.
  std::string runtime{};
  Policy policy = Policy::window;
  MemoryMode mode = MemoryMode::automatic;
  Bytes budget = kWholeSize;         ///< of all pages together
  Bytes staging_budget = 64 * kMiB;  ///< of upload pages; more closes the window
  std::uint32_t max_in_flight = 3;   ///< windows under way
  std::uint32_t cpu_threads = 0;     ///< reference runtime; 0 = one per core
  LimitOptions limits{};
  WebGpuOptions webgpu{};
  CudaOptions cuda{};
  Check check = Check::always;
  Repairs repairs = Repairs::allowed;
  Batch batch = Batch::automatic;
  Explain explain = Explain::nothing;
  Threads threads = Threads::allowed;
  Events events = Events::pumped;
};

}  // namespace berth
