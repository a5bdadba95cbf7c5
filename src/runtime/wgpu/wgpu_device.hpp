// SPDX-License-Identifier: Apache-2.0
//
// One device with everything that must outlive its objects: table, instance, adapter, queue, the
// block its callbacks write to. Made by us, or adopted; an adopted one is never released, and its
// callbacks are left alone. Safe from any thread once made.
#pragma once

#include <webgpu/webgpu.h>

#include <memory>
#include <mutex>
#include <string>

#include "berth/options.hpp"
#include "runtime/backend.hpp"
#include "runtime/wgpu/wgpu_events.hpp"
#include "runtime/wgpu/wgpu_library.hpp"
#include "runtime/wgpu/wgpu_table.hpp"

namespace berth::runtime::wgpu {

class Device {
 public:
  /// Makes a device, or adopts the caller's.
  /// Errors: Error(unavailable): library, adapter or device; Error(invalid_argument): options.
  explicit Device(const ConnectOptions& options);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const Table& api() const { return library_.table; }
  [[nodiscard]] const Library& library() const { return library_; }
  [[nodiscard]] WGPUDevice device() const { return device_; }
  [[nodiscard]] WGPUQueue queue() const { return queue_; }
  [[nodiscard]] bool adopted() const { return adopted_; }
  [[nodiscard]] Events& events() const { return *events_; }
  [[nodiscard]] const Capabilities& capabilities() const { return capabilities_; }

  /// True if pump() may be called: the host does not pump alone.
  [[nodiscard]] bool pumps() const { return pumps_; }
  /// Lets callbacks fire. Never waits. Cost: 0.1 to 1 us.
  void pump() const;

  /// Held while error scopes are open, so that one thread's errors are not another's. Taken before
  /// any other lock of this runtime; a thread may take it twice.
  [[nodiscard]] std::recursive_mutex& scope_mutex() { return scope_mutex_; }

  /// Throws DeviceLost if the device is gone.
  void check_alive() const;
  [[noreturn]] void throw_lost() const;

 private:
  void make(const ConnectOptions& options);
  void adopt(const ConnectOptions& options);
  void request_device(const ConnectOptions& options);
  void describe(const ConnectOptions& options);
  void release() noexcept;

  Library library_;
  WGPUInstance instance_ = nullptr;
  WGPUAdapter adapter_ = nullptr;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  Events* events_ = nullptr;
  std::recursive_mutex scope_mutex_;
  bool adopted_ = false;
  bool pumps_ = true;
  Capabilities capabilities_;
};

}  // namespace berth::runtime::wgpu
