// SPDX-License-Identifier: Apache-2.0
//
// Packing one page: items with fixed lives get offsets, the extent shall come down to the most
// bytes live at once. Knows no conflicts and no other page. First fit in a few orders; then
// ejection: an item above the target is put where it disturbs least, and whom it disturbs is put
// elsewhere.
//
//   address ^   +--+ . . . . target
//           |+--+ c|
//           ||a |--+--+      c fits below the target if b moves, so b is ejected and placed again
//           |+--+ b   |
//           +---------+-> position
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/pool_problem.hpp"
#include "plan/random.hpp"

namespace berth::plan::detail {

struct Packing {
  Bytes extent = 0;
  std::vector<Bytes> offset;  ///< in the order of the given items
};

/// Cost: `work` bounds what is done after the first fits, in units of about a nanosecond; memory
/// grows with the pairs of items that meet in time, so callers pass pages, not whole large windows.
[[nodiscard]] Packing pack(std::span<const Item> items, Bytes target, std::uint64_t work,
                           Random& random);

}  // namespace berth::plan::detail
