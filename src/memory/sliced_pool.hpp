// SPDX-License-Identifier: Apache-2.0
//
// Many tensors on few pages: the long-lived tensors of planned windows (placed by the planner, see
// Manager::set_place) and all tensors of the policy `per_task` (placed here). One thread at a time.
#pragma once

#include <span>

#include "memory/page.hpp"

namespace berth::memory {

struct SlicedOptions {
  Bytes alignment = 256;  ///< of offsets; the device's
  /// Sizes of the pages that reserve() makes: see PageTable::make_growing.
  Bytes least_page = 64 * kKiB;
  Bytes most_page = 32 * kMiB;
};

class SlicedPool {
 public:
  SlicedPool(PageTable& table, PoolKind kind, SlicedOptions options)
      : table_(table), kind_(kind), options_(options) {}

  /// The best fit over all pages that are not excluded; makes a page if none has room.
  [[nodiscard]] Reserved reserve(Bytes bytes, std::span<const PageId> excluded);
  void release(const Slice& slice) { table_.at(slice.page).give(slice); }

 private:
  PageTable& table_;
  PoolKind kind_;
  SlicedOptions options_;
};

}  // namespace berth::memory
