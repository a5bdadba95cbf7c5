// SPDX-License-Identifier: Apache-2.0
//
// Things dropped on any thread, on their way to the one owner that may release them. Lock-free for
// those who drop (one exchange of a pointer, no allocation); the nodes live inside what is dropped.
#pragma once

#include <atomic>

namespace berth::memory {

/// Base of what can be dropped. In one queue at a time.
struct DropNode {
  DropNode* next = nullptr;
};

class DropQueue {
 public:
  DropQueue() = default;
  DropQueue(const DropQueue&) = delete;
  DropQueue& operator=(const DropQueue&) = delete;
  ~DropQueue() = default;

  /// From any thread. Returns: false if the queue is closed; the node is still the caller's then.
  [[nodiscard]] bool push(DropNode& node) noexcept;
  /// The owner's: takes all nodes, oldest first, linked by `next`; nullptr if there are none.
  [[nodiscard]] DropNode* take_all() noexcept;
  /// The owner's: like take_all(), and every later push() answers false.
  [[nodiscard]] DropNode* close() noexcept;
  /// A hint: a push may be under way.
  [[nodiscard]] bool empty() const noexcept;

 private:
  static DropNode* closed_mark() noexcept;
  static DropNode* oldest_first(DropNode* newest) noexcept;

  std::atomic<DropNode*> newest_{nullptr};
};

}  // namespace berth::memory
