// SPDX-License-Identifier: Apache-2.0
//
// One page per tensor: what most WebGPU runtimes do today. A freed page is kept and used again by a
// tensor of the same rounded size, or, failing that, by the best fit up to a quarter larger: beyond
// that a kept page would cost more than a new one. One thread at a time.
#pragma once

#include <span>
#include <vector>

#include "memory/page.hpp"

namespace berth::memory {

class ExclusivePool {
 public:
  explicit ExclusivePool(PageTable& table) : table_(table) {}

  /// A page of its own that is not excluded.
  [[nodiscard]] Reserved reserve(Bytes bytes, std::span<const PageId> excluded);
  void release(const Slice& slice);
  /// Takes a slice again that was released (a roll-back). Returns: false if it is taken.
  [[nodiscard]] bool try_retake(const Slice& slice);
  /// An idle page is about to be freed.
  void forget(PageId page);

  [[nodiscard]] std::optional<std::string> check() const;

 private:
  PageTable& table_;
  std::vector<Page*> idle_;  // by size, then by id
};

}  // namespace berth::memory
