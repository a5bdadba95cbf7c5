// SPDX-License-Identifier: Apache-2.0
//
// Room for the uniform blocks of windows: one range a window, free again once the window's
// submission is done. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/host_pages.hpp"
#include "memory/page.hpp"

namespace berth::memory {

struct UniformOptions {
  Bytes alignment = 256;  ///< of the ranges; the device's for uniform blocks
  /// Sizes of new pages: see PageTable::make_growing.
  Bytes least_page = 64 * kKiB;
  Bytes most_page = 4 * kMiB;
};

class UniformPool {
 public:
  UniformPool(PageTable& table, HostPages& host, UniformOptions options)
      : table_(table), host_(host), options_(options) {}

  /// A range for the blocks of one window. It stays its owner's until one of the two calls below.
  [[nodiscard]] Reserved reserve(Bytes bytes);
  /// The range is in use until submission `ticket` is done.
  void submitted(const Slice& room, std::uint64_t ticket);
  /// The range was not used.
  void cancel(const Slice& room);
  /// Frees the ranges of submissions that are done.
  void pump();

 private:
  struct InFlight {
    Slice room;
    std::uint64_t ticket = 0;
  };
  PageTable& table_;
  HostPages& host_;
  UniformOptions options_;
  std::vector<InFlight> in_flight_;  // tickets ascend
};

}  // namespace berth::memory
