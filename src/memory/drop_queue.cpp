// SPDX-License-Identifier: Apache-2.0
//
// A stack by compare-and-exchange that is taken as a whole: as nothing is ever popped alone, the
// ABA problem cannot arise.
#include "memory/drop_queue.hpp"

#include <utility>

namespace berth::memory {

DropNode* DropQueue::closed_mark() noexcept {
  static DropNode mark;
  return &mark;
}

bool DropQueue::push(DropNode& node) noexcept {
  DropNode* newest = newest_.load(std::memory_order_relaxed);
  do {
    if (newest == closed_mark()) return false;
    node.next = newest;
  } while (!newest_.compare_exchange_weak(newest, &node, std::memory_order_release,
                                          std::memory_order_relaxed));
  return true;
}

DropNode* DropQueue::take_all() noexcept {
  DropNode* newest = newest_.load(std::memory_order_relaxed);
  if (newest == nullptr || newest == closed_mark()) return nullptr;
  // Only the owner closes, so what is exchanged here is never the mark.
  return oldest_first(newest_.exchange(nullptr, std::memory_order_acquire));
}

DropNode* DropQueue::close() noexcept {
  DropNode* newest = newest_.exchange(closed_mark(), std::memory_order_acq_rel);
  return newest == closed_mark() ? nullptr : oldest_first(newest);
}

bool DropQueue::empty() const noexcept {
  const DropNode* newest = newest_.load(std::memory_order_relaxed);
  return newest == nullptr || newest == closed_mark();
}

DropNode* DropQueue::oldest_first(DropNode* newest) noexcept {
  DropNode* oldest = nullptr;
  while (newest != nullptr) {
    DropNode* next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

}  // namespace berth::memory
