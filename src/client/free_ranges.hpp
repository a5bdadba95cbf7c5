// SPDX-License-Identifier: Apache-2.0
//
// Free ranges of the planner's existing pages, as the placers put them together. Pure.
#pragma once

#include <algorithm>

#include "berth/plan/problem.hpp"
#include "memory/page.hpp"

namespace berth::client {

/// Adds a range that is not free yet, keeping the list sorted and its ranges apart.
inline void add_free(plan::Page& page, Range range) {
  if (range.empty()) return;
  auto at = page.free.insert(std::ranges::lower_bound(page.free, range), range);
  if (at + 1 != page.free.end() && at->end() == (at + 1)->offset) {
    at->bytes += (at + 1)->bytes;
    page.free.erase(at + 1);
  }
  if (at != page.free.begin() && (at - 1)->end() == at->offset) {
    (at - 1)->bytes += at->bytes;
    page.free.erase(at);
  }
}

/// What a slice took beyond the bytes of its tensor: nobody's, should the tensor die.
[[nodiscard]] inline Range padding_of(const memory::Slice& slice) {
  return {slice.offset + slice.bytes, slice.taken - slice.bytes};
}

}  // namespace berth::client
