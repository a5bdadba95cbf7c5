// SPDX-License-Identifier: Apache-2.0
//
// Whole pages, lent to a window for its transients. Where on a page each version lies is the
// planner's affair. Submissions run in order, so a page may be given back, and lent again, as soon
// as the window that had it is submitted. One thread at a time.
#pragma once

#include <span>
#include <vector>

#include "memory/page.hpp"

namespace berth::memory {

/// What happens to idle pages that are too small when larger ones are made.
enum class Growth : std::uint8_t {
  replace,  ///< as many bytes of them as were made are freed once no submission uses them
  add,      ///< they stay
};

/// A page lent to a window: `extent` bytes of it are used.
struct Lent {
  PageId page;
  Bytes extent = 0;
};

/// Pages for a window, in the order of the extents, or why there are none.
struct LentPages {
  std::vector<Lent> pages;
  std::vector<PageId> made;      ///< those of `pages` that are new
  std::vector<PageId> replaced;  ///< idle pages to be freed if the window is submitted
  std::optional<StorageFailure> failure;
  [[nodiscard]] bool ok() const { return !failure; }
};

class TransientPool {
 public:
  explicit TransientPool(PageTable& table) : table_(table) {}

  /// Idle pages for as many bytes of extents as possible, new ones for the rest: no other matching
  /// makes fewer bytes. The same extents and idle pages give the same answer.
  [[nodiscard]] LentPages lend(std::span<const Bytes> extents, Growth growth);
  /// Exactly these pages again (a prepared program). Returns: false, and nothing changes, unless
  /// all exist, are idle and large enough.
  [[nodiscard]] bool try_lend(std::span<const Lent> pages);
  void give_back(std::span<const Lent> pages);

 private:
  PageTable& table_;
};

}  // namespace berth::memory
