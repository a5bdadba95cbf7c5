// SPDX-License-Identifier: Apache-2.0
#include "plan/reuse.hpp"

#include <algorithm>
#include <tuple>

namespace berth::plan::detail {

void reuse_bins(const PoolProblem& problem, PoolPlan& plan) {
  const auto existing = static_cast<std::uint32_t>(problem.bins.size());
  const auto pages = static_cast<std::uint32_t>(plan.extent.size());
  if (existing == 0) return;
  std::vector<std::vector<std::uint32_t>> on(pages);
  std::vector<Bytes> end(pages, 0);     // without the last item's padding
  std::vector<Bytes> padded(pages, 0);  // with it
  std::vector<Bytes> alignment(pages, 1);
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const std::uint32_t p = plan.page[i];
    on[p].push_back(i);
    end[p] = std::max(end[p], plan.offset[i] + problem.items[i].bytes);
    padded[p] = std::max(padded[p], plan.offset[i] + problem.items[i].size);
    alignment[p] = std::max(alignment[p], problem.items[i].alignment);
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t p = existing; p < pages; ++p) {
    if (!on[p].empty()) order.push_back(p);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return end[a] > end[b]; });
  std::vector<std::uint8_t> taken(existing, 0);
  for (std::uint32_t b = 0; b < existing; ++b) taken[b] = on[b].empty() ? 0 : 1;
  std::vector<std::uint8_t> blocked(existing, 0);
  for (const std::uint32_t p : order) {
    std::fill(blocked.begin(), blocked.end(), 0);
    for (const std::uint32_t i : on[p]) {
      for (const std::uint32_t b : problem.blocked.of(i)) blocked[b] = 1;
    }
    std::uint32_t best = kNone;
    Bytes offset = 0;
    auto best_key = std::tuple(true, kWholeSize);
    for (std::uint32_t b = 0; b < existing; ++b) {
      if (taken[b] != 0 || blocked[b] != 0) continue;
      for (const Range& free : problem.bins[b].free) {
        const Bytes from = align_up(free.offset, alignment[p]);
        const Bytes most = std::min(free.end(), problem.bins[b].bytes);
        const Bytes need = free.end() >= problem.bins[b].bytes ? end[p] : padded[p];
        if (from > most || most - from < need) continue;
        // Pages that are held anyway come first, then the tightest range.
        const auto key = std::tuple(problem.bins[b].idle, free.bytes);
        if (best != kNone && key >= best_key) continue;
        best = b;
        best_key = key;
        offset = from;
      }
    }
    if (best == kNone) continue;
    taken[best] = 1;
    for (const std::uint32_t i : on[p]) {
      plan.page[i] = best;
      plan.offset[i] += offset;
    }
    plan.extent[best] = offset + end[p];
    plan.extent[p] = 0;
  }
}

}  // namespace berth::plan::detail
