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
  /// A page that reserve() makes is as large as all pages of the pool so far, within these two and
  /// never below what is needed: few pages, and at most half of them empty.
  Bytes least_page = 64 * kKiB;
  Bytes most_page = 32 * kMiB;
};

class SlicedPool {
 public:
  SlicedPool(PageTable& table, PoolKind kind, SlicedOptions options)
      : table_(table), kind_(kind), options_(options) {}

  /// The best fit over all pages that are not excluded; makes a page if none has room. If a page of
  /// the growing size cannot be made, one of the size needed is tried.
  [[nodiscard]] Reserved reserve(Bytes bytes, std::span<const PageId> excluded);
  void release(const Slice& slice) { table_.at(slice.page).give(slice); }

 private:
  PageTable& table_;
  PoolKind kind_;
  SlicedOptions options_;
};

}  // namespace berth::memory
