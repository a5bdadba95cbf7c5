// SPDX-License-Identifier: Apache-2.0
//
// One CUDA device: driver and NVRTC, a context and a stream (its own, or the caller's, adopted),
// what it can do, and what its errors mean. Decides nothing about pages or programs. Safe from any
// thread.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "berth/options.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_library.hpp"

namespace berth::runtime::cuda {

class Device {
 public:
  /// Errors: Error(unavailable) if driver, compiler or device are not there;
  ///   Error(invalid_argument) for options that make no sense.
  explicit Device(const ConnectOptions& options);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const DriverTable& api() const { return driver_.table; }
  [[nodiscard]] const NvrtcLibrary& nvrtc() const { return nvrtc_; }
  [[nodiscard]] CUstream stream() const { return stream_; }
  [[nodiscard]] CUdevice device() const { return device_; }
  [[nodiscard]] CUcontext context() const { return context_; }
  /// 90 for compute capability 9.0.
  [[nodiscard]] int architecture() const { return architecture_; }
  /// It has stream-ordered allocation.
  [[nodiscard]] bool has_memory_pools() const { return memory_pools_; }
  [[nodiscard]] const Capabilities& capabilities() const { return capabilities_; }

  /// Throws unless `result` is success: DeviceLost if the error is one that the context does not
  /// survive (from then on everything is lost), else Error(device) with the error's name.
  /// `doing` completes "while …".
  void check(CUresult result, const std::string& doing) const {
    if (result != CUDA_SUCCESS) fail(result, doing);
  }
  [[noreturn]] void fail(CUresult result, const std::string& doing) const;
  /// The same without throwing: marks the device lost if the error is such a one. Returns: whether.
  bool note(CUresult result, const std::string& doing) const noexcept;
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  [[nodiscard]] std::string name_of(CUresult result) const;

  void mark_lost(const std::string& why) const noexcept;
  [[nodiscard]] bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<std::string> lost_reason() const;
  /// Throws DeviceLost if the device is lost.
  void check_alive() const {
    if (is_lost()) throw_lost();
  }

 private:
  void adopt(const CudaOptions& given);
  void make(const CudaOptions& options);
  void describe(const ConnectOptions& options);
  void release() noexcept;
  [[nodiscard]] int attribute(CUdevice_attribute which) const;
  /// An error before there is a device to use: Error(unavailable).
  void check_start(CUresult result, const char* doing) const;
  [[noreturn]] void throw_lost() const;

  DriverLibrary driver_;
  NvrtcLibrary nvrtc_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  bool owns_context_ = false;
  bool owns_stream_ = false;
  bool memory_pools_ = false;
  int architecture_ = 0;
  Capabilities capabilities_;
  mutable std::atomic<bool> lost_{false};
  mutable std::mutex lost_mutex_;
  mutable std::string lost_reason_;
};

/// Makes the device's context current for this thread and puts back what was there before, so that
/// a host with contexts of its own sees no difference.
class ContextScope {
 public:
  explicit ContextScope(const Device& device) : api_(device.api()) {
    // Fails only for a context that is gone; the call that follows says so.
    pushed_ = api_.CtxPushCurrent(device.context()) == CUDA_SUCCESS;
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    CUcontext before = nullptr;
    if (pushed_) api_.CtxPopCurrent(&before);
  }

 private:
  const DriverTable& api_;
  bool pushed_ = false;
};

}  // namespace berth::runtime::cuda
