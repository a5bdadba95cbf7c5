// SPDX-License-Identifier: Apache-2.0
//
// A batch is a run of the sorted lengths, so the best grouping follows from the best groupings of
// all shorter prefixes.
// Thread safety: see batching.hpp.
#include "minilm/batching.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace minilm {

std::vector<Batch> plan_batches(std::span<const std::uint32_t> lengths,
                                std::uint32_t token_budget) {
  const std::size_t count = lengths.size();
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return lengths[i]; });

  // cost[n]: of the best grouping of the n shortest; start[n]: where its last batch begins.
  std::vector<std::uint64_t> cost(count + 1, std::numeric_limits<std::uint64_t>::max());
  std::vector<std::size_t> start(count + 1, 0);
  cost[0] = 0;
  for (std::size_t end = 1; end <= count; ++end) {
    const std::uint64_t longest = lengths[order[end - 1]];
    for (std::size_t size = 1; size <= end; ++size) {
      if (size > 1 && size * longest > token_budget) break;
      const std::uint64_t total = cost[end - size] + size * longest + kBatchCostInTokens;
      if (total < cost[end]) {
        cost[end] = total;
        start[end] = end - size;
      }
    }
  }

  std::vector<Batch> batches;
  for (std::size_t end = count; end > 0; end = start[end]) {
    Batch& batch = batches.emplace_back();
    batch.sentences.assign(order.begin() + static_cast<std::ptrdiff_t>(start[end]),
                           order.begin() + static_cast<std::ptrdiff_t>(end));
    batch.longest = lengths[order[end - 1]];
  }
  std::ranges::reverse(batches);
  return batches;
}

}  // namespace minilm
