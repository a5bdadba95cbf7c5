// SPDX-License-Identifier: Apache-2.0
//
// Which pages an item may go on, while items are placed one by one: the bins it is not blocked from
// and the pages without a neighbour in conflict. Shared by the greedy placers.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/pool_problem.hpp"

namespace berth::plan::detail {

class Permission {
 public:
  explicit Permission(const PoolProblem& problem) : problem_(problem) {}

  /// Looks at the neighbours of `item` that have a page in `page` (kNone: none yet).
  void ask(std::uint32_t item, const std::vector<std::uint32_t>& page) {
    ++stamp_;
    for (const std::uint32_t other : problem_.conflicts.of(item)) {
      if (page[other] != kNone) forbid(page[other]);
    }
    for (const std::uint32_t bin : problem_.blocked.of(item)) forbid(bin);
  }
  /// The answer for the last item asked about.
  [[nodiscard]] bool allows(std::uint32_t page) const {
    return page >= stamps_.size() || stamps_[page] != stamp_;
  }

 private:
  void forbid(std::uint32_t page) {
    if (page >= stamps_.size()) stamps_.resize(std::size_t{page} + 1, 0);
    stamps_[page] = stamp_;
  }

  const PoolProblem& problem_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
};

/// Whether a greedy placer sees the existing pages.
enum class Bins : std::uint8_t { use, ignore };

}  // namespace berth::plan::detail
