// SPDX-License-Identifier: Apache-2.0
//
// A set of bytes as disjoint ranges: add a range, ask whether one meets it. Not thread safe.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include "berth/units.hpp"

namespace berth::client {

class IntervalSet {
 public:
  [[nodiscard]] bool meets(Range range) const {
    if (range.empty()) return false;
    const auto after = ends_by_begin_.lower_bound(range.end());
    return after != ends_by_begin_.begin() && std::prev(after)->second > range.offset;
  }

  void add(Range range) {
    if (range.empty()) return;
    Bytes begin = range.offset;
    Bytes end = range.end();
    auto it = ends_by_begin_.upper_bound(begin);
    if (it != ends_by_begin_.begin() && std::prev(it)->second >= begin) --it;
    while (it != ends_by_begin_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ends_by_begin_.erase(it);
    }
    ends_by_begin_.emplace(begin, end);
  }

  void clear() { ends_by_begin_.clear(); }

 private:
  std::map<Bytes, Bytes> ends_by_begin_;
};

}  // namespace berth::client
