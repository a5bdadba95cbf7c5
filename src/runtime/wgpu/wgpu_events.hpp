// SPDX-License-Identifier: Apache-2.0
//
// What a device's callbacks tell: finished submissions, loss, errors outside of any scope.
// Callbacks may come late (after the runtime is gone) and, on a host's own device, from any thread;
// so this block counts who may still call it, and all of it is safe from any thread. Callbacks
// throw nothing.
#pragma once

#include <webgpu/webgpu.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace berth::runtime::wgpu {

[[nodiscard]] inline WGPUStringView view(std::string_view s) { return {s.data(), s.size()}; }
/// The text of a view, which may be null or null-terminated.
[[nodiscard]] std::string_view text_of(WGPUStringView s);
/// A library's text for a sentence of ours: lines joined, spaces squeezed, ending in a full stop.
[[nodiscard]] std::string one_line(std::string_view message);

class Events {
 public:
  /// Starts with one owner.
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// The last submission that is done.
  [[nodiscard]] std::uint64_t completed() const {
    return completed_.load(std::memory_order_acquire);
  }
  void complete(std::uint64_t ticket) noexcept;

  [[nodiscard]] bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string lost_reason() const;
  void lose(std::string_view why) noexcept;
  /// An error's text may be the only sign of a loss: on an adopted device, and on wgpu-native after
  /// wgpuDeviceDestroy.
  void look_for_loss(std::string_view error) noexcept;

  /// The first error outside of any scope since the last call.
  [[nodiscard]] std::optional<std::string> take_error();
  void note_error(std::string_view message) noexcept;

  // For descriptors: userdata1 is the Events. on_work_done gives back one owner, and so does
  // on_device_lost if its userdata2 is not null.
  static void on_work_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void* events,
                           void* ticket);
  static void on_device_lost(const WGPUDevice* device, WGPUDeviceLostReason reason,
                             WGPUStringView message, void* events, void* counted);
  static void on_uncaptured_error(const WGPUDevice* device, WGPUErrorType type,
                                  WGPUStringView message, void* events, void* unused);

 private:
  ~Events() = default;

  std::atomic<std::uint32_t> owners_{1};
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<bool> lost_{false};
  std::atomic<bool> has_error_{false};
  mutable std::mutex mutex_;
  std::string lost_reason_;
  std::string error_;
};

}  // namespace berth::runtime::wgpu
