// SPDX-License-Identifier: Apache-2.0
//
// The conflicts of a window that no placement can solve: uses of one task that must share a page
// because of fixed places, or because they are ranges of one version; and ranges that cannot be
// bound where they begin. What repair() has to remove.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::detail {

/// Two uses of a task, as indices into Problem::uses, that may not stay as they are; the same one
/// twice: it begins where a binding cannot.
struct Clash {
  std::uint32_t task = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

class ClashFinder {
 public:
  explicit ClashFinder(const Problem& problem);

  /// Appends the clashes of one task. Cost: O(uses) if there are none.
  void find(std::uint32_t task, std::vector<Clash>& clashes) const;
  /// True if binding all of the task read_write would leave no clash.
  [[nodiscard]] bool promotable(std::uint32_t task) const;

 private:
  [[nodiscard]] bool misaligned(const Use& use) const;
  [[nodiscard]] bool meet(const Use& a, const Use& b) const;
  [[nodiscard]] bool one_page(const Use& a, const Use& b) const;
  [[nodiscard]] bool in_place(std::uint32_t task, const Use& a, const Use& b) const;

  const Problem& problem_;
  std::vector<std::uint32_t> source_;  ///< per version: what it takes over in place
};

}  // namespace berth::plan::detail
