// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_events.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace berth::runtime::wgpu {

std::string_view text_of(WGPUStringView s) {
  if (s.data == nullptr) return {};
  return {s.data, s.length == WGPU_STRLEN ? std::strlen(s.data) : s.length};
}

std::string one_line(std::string_view message) {
  std::string out;
  bool space = false;
  for (const char c : message) {
    if (c == '\n' || c == '\r' || c == '\t' || c == ' ') {
      space = !out.empty();
      continue;
    }
    if (space) out += ' ';
    space = false;
    out += c;
  }
  if (!out.empty() && out.back() != '.' && out.back() != '!') out += '.';
  return out;
}
void Events::look_for_loss(std::string_view error) noexcept {
  // wgpu-native: "Parent device is lost"; Dawn: "[Device] is lost."
  for (const std::string_view sign : {"evice is lost", "evice] is lost", "evice lost"}) {
    if (error.find(sign) != std::string_view::npos) return lose(error);
  }
}

void Events::complete(std::uint64_t ticket) noexcept {
  std::uint64_t before = completed_.load(std::memory_order_relaxed);
  while (before < ticket &&
         !completed_.compare_exchange_weak(before, ticket, std::memory_order_acq_rel)) {
  }
}

std::string Events::lost_reason() const {
  const std::lock_guard lock(mutex_);
  return lost_reason_;
}

void Events::lose(std::string_view why) noexcept {
  const std::lock_guard lock(mutex_);
  if (lost_.load(std::memory_order_relaxed)) return;
  try {
    lost_reason_ = one_line(why);
  } catch (...) {  // no memory for the reason: the loss itself counts
    lost_reason_.clear();
  }
  lost_.store(true, std::memory_order_release);
}

std::optional<std::string> Events::take_error() {
  if (!has_error_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  has_error_.store(false, std::memory_order_release);
  return std::exchange(error_, {});
}

void Events::note_error(std::string_view message) noexcept {
  look_for_loss(message);
  const std::lock_guard lock(mutex_);
  if (has_error_.load(std::memory_order_relaxed)) return;
  try {
    error_ = message;
  } catch (...) {  // no memory for the text: the error itself counts
    error_.clear();
  }
  has_error_.store(true, std::memory_order_release);
}

void Events::on_work_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void* events,
                          void* ticket) {
  auto* self = static_cast<Events*>(events);
  if (status == WGPUQueueWorkDoneStatus_Success) {
    // Work of a lost device counts as "done" too; whoever waits looks for the loss first.
    self->complete(std::bit_cast<std::uintptr_t>(ticket));
  } else if (status == WGPUQueueWorkDoneStatus_Error) {
    const std::string_view why = text_of(message);
    self->lose(why.empty() ? "The queue reports that submitted work failed." : why);
  }
  self->release();
}

void Events::on_device_lost(const WGPUDevice* /*device*/, WGPUDeviceLostReason reason,
                            WGPUStringView message, void* events, void* counted) {
  auto* self = static_cast<Events*>(events);
  if (reason != WGPUDeviceLostReason_CallbackCancelled) self->lose(text_of(message));
  if (counted != nullptr) self->release();
}

void Events::on_uncaptured_error(const WGPUDevice* /*device*/, WGPUErrorType /*type*/,
                                 WGPUStringView message, void* events, void* /*unused*/) {
  static_cast<Events*>(events)->note_error(text_of(message));
}

}  // namespace berth::runtime::wgpu
