// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of one page are free: bookkeeping apart from bytes, it never touches a device. It
// knows ranges, not who holds them. One thread at a time.
//
//   page   |######|......|###|..........|##|....|      # taken   . free
//   ranges         [0]        [1]           [2]        sorted, disjoint, never touching
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/units.hpp"

namespace berth::memory {

class FreeList {
 public:
  /// All of [0, bytes) is free.
  explicit FreeList(Bytes bytes);

  /// Where a reservation would go.
  struct Fit {
    Range range;           ///< starts aligned; its end is aligned too, or is that of the free range
    Bytes free_bytes = 0;  ///< of the free range that holds it: less is a better fit
  };
  /// The best fit: the smallest free range that holds `bytes` from an aligned offset on, the lowest
  /// one among equals. The bytes up to the next multiple of `alignment` come with it, as no aligned
  /// reservation could use them.
  /// Cost: linear in the number of free ranges.
  [[nodiscard]] std::optional<Fit> find(Bytes bytes, Bytes alignment) const;

  /// find() and take.
  [[nodiscard]] std::optional<Range> try_reserve(Bytes bytes, Bytes alignment);
  /// Takes exactly this range. Returns: false, and nothing changes, unless all of it is free.
  [[nodiscard]] bool try_reserve_at(Range range);
  /// Frees a range. Errors: Error(internal) if a byte of it is free already or outside the page.
  void release(Range range);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Bytes free_bytes() const { return free_bytes_; }
  [[nodiscard]] bool all_free() const { return free_bytes_ == bytes_; }
  [[nodiscard]] std::span<const Range> ranges() const { return ranges_; }

  /// Walks the invariants. Returns: the first one that does not hold.
  [[nodiscard]] std::optional<std::string> check() const;

 private:
  void take(std::size_t index, Range range);

  Bytes bytes_;
  Bytes free_bytes_;
  std::vector<Range> ranges_;  // a vector: no heap block per reservation in steady state
};

}  // namespace berth::memory
