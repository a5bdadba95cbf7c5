// SPDX-License-Identifier: Apache-2.0
#include "memory/free_list.hpp"

#include <algorithm>

#include "berth/error.hpp"

namespace berth::memory {

namespace {

std::string text(Range range) {
  return "[" + std::to_string(range.offset) + ", " + std::to_string(range.end()) + ")";
}

}  // namespace

FreeList::FreeList(Bytes bytes) : bytes_(bytes), free_bytes_(bytes) {
  if (bytes != 0) ranges_.push_back({0, bytes});
}

std::optional<FreeList::Fit> FreeList::find(Bytes bytes, Bytes alignment) const {
  std::optional<Fit> best;
  for (const Range& range : ranges_) {
    if (range.bytes < bytes || (best && range.bytes >= best->free_bytes)) continue;
    const Bytes start = align_up(range.offset, alignment);
    if (start - range.offset > range.bytes - bytes) continue;
    const Bytes end = std::min(align_up(start + bytes, alignment), range.end());
    best = Fit{{start, end - start}, range.bytes};
  }
  return best;
}

std::optional<Range> FreeList::try_reserve(Bytes bytes, Bytes alignment) {
  const std::optional<Fit> fit = find(bytes, alignment);
  if (!fit || !try_reserve_at(fit->range)) return std::nullopt;
  return fit->range;
}

bool FreeList::try_reserve_at(Range range) {
  if (range.empty()) return range.offset <= bytes_;
  if (range.bytes > bytes_ || range.offset > bytes_ - range.bytes) return false;
  // The last free range that begins at or before this one.
  const auto after = std::ranges::upper_bound(ranges_, range.offset, {}, &Range::offset);
  if (after == ranges_.begin()) return false;
  const auto holder = after - 1;
  if (!holder->contains(range)) return false;
  take(static_cast<std::size_t>(holder - ranges_.begin()), range);
  return true;
}

void FreeList::take(std::size_t index, Range range) {
  Range& holder = ranges_[index];
  const Range head{holder.offset, range.offset - holder.offset};
  const Range tail{range.end(), holder.end() - range.end()};
  const auto at = ranges_.begin() + static_cast<std::ptrdiff_t>(index);
  if (head.empty() && tail.empty()) {
    ranges_.erase(at);
  } else if (head.empty() || tail.empty()) {
    holder = head.empty() ? tail : head;
  } else {
    holder = head;
    ranges_.insert(at + 1, tail);
  }
  free_bytes_ -= range.bytes;
}

void FreeList::release(Range range) {
  if (range.empty()) return;
  const auto after = std::ranges::upper_bound(ranges_, range.offset, {}, &Range::offset);
  const bool outside = range.bytes > bytes_ || range.offset > bytes_ - range.bytes;
  const bool meets_before = after != ranges_.begin() && (after - 1)->end() > range.offset;
  const bool meets_after = !outside && after != ranges_.end() && after->offset < range.end();
  if (outside || meets_before || meets_after) {
    throw Error(ErrorCode::internal, "Bytes " + text(range) + " of a page of " +
                                         std::to_string(bytes_) +
                                         " bytes are released but are not all taken.");
  }
  free_bytes_ += range.bytes;
  const bool joins_before = after != ranges_.begin() && (after - 1)->end() == range.offset;
  const bool joins_after = after != ranges_.end() && after->offset == range.end();
  if (joins_before && joins_after) {
    (after - 1)->bytes += range.bytes + after->bytes;
    ranges_.erase(after);
  } else if (joins_before) {
    (after - 1)->bytes += range.bytes;
  } else if (joins_after) {
    *after = {range.offset, range.bytes + after->bytes};
  } else {
    ranges_.insert(after, range);
  }
}

std::optional<std::string> FreeList::check() const {
  Bytes sum = 0;
  Bytes last_end = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    if (range.empty()) return "free range " + text(range) + " is empty";
    if (range.end() > bytes_) return "free range " + text(range) + " ends outside the page";
    if (i != 0 && range.offset <= last_end) {
      return "free range " + text(range) + " meets or touches the one that ends at " +
             std::to_string(last_end);
    }
    last_end = range.end();
    sum += range.bytes;
  }
  if (sum != free_bytes_) {
    return "free ranges hold " + std::to_string(sum) + " bytes, counted are " +
           std::to_string(free_bytes_);
  }
  return std::nullopt;
}

}  // namespace berth::memory
