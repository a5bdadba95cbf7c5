// SPDX-License-Identifier: Apache-2.0
//
// What was submitted and what of it is done: one event per submission, recorded on the device's
// stream and used again once it is done. An error that shows up here happened in one of the
// submissions under way; the message names them. Safe from any thread; holds no lock while it
// waits.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"

namespace berth::runtime::cuda {

class Tickets {
 public:
  explicit Tickets(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  /// Makes sure that record() has an event. Errors: Error(device); DeviceLost.
  void reserve();
  /// Everything on the stream so far belongs to a new submission. `keep` is dropped once that is
  /// done; `what` names it in errors and lives as long as `keep`.
  /// Returns: its ticket. Errors: Error(device); DeviceLost. Order: after reserve(), with the
  ///   submission lock held.
  std::uint64_t record(std::shared_ptr<const void> keep, const std::string& what);

  /// Notices what is done. Never waits, never throws: an error marks the device lost.
  std::uint64_t poll() noexcept;
  [[nodiscard]] std::uint64_t completed() const {
    return completed_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t submitted() const {
    return submitted_.load(std::memory_order_acquire);
  }
  /// Waits until every submission up to `ticket` is done: a short spin, then blocked in the driver.
  /// Errors: DeviceLost.
  void wait(std::uint64_t ticket);
  /// Waits until all that is on the stream now is done, submitted or not. Errors: DeviceLost;
  ///   Error(device). Order: after reserve().
  void drain(const std::string& doing);
  /// Events made so far: a steady state makes none.
  [[nodiscard]] std::uint64_t events_made() const { return events_made_; }

 private:
  class Event {
   public:
    explicit Event(std::shared_ptr<const Device> device);
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event();
    CUevent event = nullptr;

   private:
    std::shared_ptr<const Device> device_;
  };
  struct InFlight {
    std::uint64_t ticket = 0;
    std::shared_ptr<Event> event;
    std::shared_ptr<const void> keep;
    const std::string* what = nullptr;
  };

  /// Takes finished submissions off the front.
  void retire_locked();
  void note_failure(CUresult result, const std::string& what) const;
  [[nodiscard]] std::string under_way_locked() const;

  std::shared_ptr<const Device> device_;
  std::mutex mutex_;
  std::vector<InFlight> in_flight_;  // few, so taking the first off is cheap
  std::vector<std::shared_ptr<Event>> free_;
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> completed_{0};
  std::uint64_t events_made_ = 0;
};

}  // namespace berth::runtime::cuda
