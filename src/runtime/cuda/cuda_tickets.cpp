// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_tickets.hpp"

#include <chrono>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::cuda {

namespace {

// A blocked thread wakes tens of microseconds late, so work shorter than this is spun for.
constexpr std::chrono::microseconds kSpin{30};

}  // namespace

Tickets::Event::Event(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  device_->check(
      device_->api().EventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
      "making an event");
}

Tickets::Event::~Event() {
  const ContextScope scope(*device_);
  device_->api().EventDestroy(event);
}

void Tickets::reserve() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) return;
  free_.push_back(std::make_shared<Event>(device_));
  ++events_made_;
}

std::uint64_t Tickets::record(std::shared_ptr<const void> keep, const std::string& what) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t ticket = submitted_.load(std::memory_order_relaxed) + 1;
  device_->check(device_->api().EventRecord(free_.back()->event, device_->stream()),
                 text("submitting ", what));
  in_flight_.push_back({ticket, std::move(free_.back()), std::move(keep), &what});
  free_.pop_back();
  submitted_.store(ticket, std::memory_order_release);
  return ticket;
}

void Tickets::note_failure(CUresult result, const std::string& what) const {
  // Any error of work that was submitted: what it was to compute is not there.
  device_->mark_lost(
      text("the CUDA driver answers ", device_->name_of(result), " while running ", what, "."));
}

void Tickets::retire_locked() {
  std::size_t done = 0;
  for (; done < in_flight_.size(); ++done) {
    InFlight& first = in_flight_[done];
    const CUresult result = device_->api().EventQuery(first.event->event);
    if (result == CUDA_ERROR_NOT_READY) break;
    if (result != CUDA_SUCCESS) {
      note_failure(result, under_way_locked());
      break;
    }
    completed_.store(first.ticket, std::memory_order_release);
    first.keep.reset();
    // A thread may still wait for it: then it is not used again.
    if (first.event.use_count() == 1) free_.push_back(std::move(first.event));
  }
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(done));
}

std::string Tickets::under_way_locked() const {
  std::string names;
  for (const InFlight& submission : in_flight_) {
    if (submission.ticket <= completed()) continue;
    names += text(names.empty() ? "" : ", or ", *submission.what);
  }
  return names;
}

std::uint64_t Tickets::poll() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!in_flight_.empty() && !device_->is_lost()) {
      const ContextScope scope(*device_);
      retire_locked();
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no host memory now; the next poll notices
  }
  return completed();
}

void Tickets::wait(std::uint64_t ticket) {
  const auto spin_until = std::chrono::steady_clock::now() + kSpin;
  do {
    device_->check_alive();
    if (poll() >= ticket) return;
  } while (std::chrono::steady_clock::now() < spin_until);
  std::shared_ptr<Event> event;
  std::string what;
  {
    const std::lock_guard lock(mutex_);
    for (const InFlight& submission : in_flight_) {
      if (submission.ticket < ticket) continue;
      event = submission.event;
      what = under_way_locked();
      break;
    }
  }
  if (event != nullptr) {
    const ContextScope scope(*device_);
    const CUresult result = device_->api().EventSynchronize(event->event);
    event.reset();  // so that poll() may use it again
    if (result != CUDA_SUCCESS) note_failure(result, what);
  }
  poll();
  device_->check_alive();
}

void Tickets::drain(const std::string& doing) {
  std::shared_ptr<Event> event;
  {
    const std::lock_guard lock(mutex_);
    event = free_.back();
  }
  device_->check(device_->api().EventRecord(event->event, device_->stream()), doing);
  device_->check(device_->api().EventSynchronize(event->event), doing);
}

}  // namespace berth::runtime::cuda
