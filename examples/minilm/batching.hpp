// SPDX-License-Identifier: Apache-2.0
//
// Groups sentences of unequal lengths into batches of which each is padded to its longest sentence:
// as little work as possible in all, never more tokens in one batch than the budget. It knows
// lengths and nothing else.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace minilm {

/// Sentences that go through the model together.
struct Batch {
  std::vector<std::uint32_t> sentences;  ///< indices, shortest first
  std::uint32_t longest = 0;             ///< tokens every sentence is padded to

  [[nodiscard]] std::uint64_t padded_tokens() const {
    return std::uint64_t{longest} * sentences.size();
  }
};

/// What one more batch costs, in tokens: padding a few tokens is cheaper than another window.
inline constexpr std::uint64_t kBatchCostInTokens = 64;

/// The batches, longest sentences last. Every sentence is in exactly one.
/// Units: lengths and `token_budget` in tokens; a length above the budget gets a batch of its own.
/// Returns: the grouping of the sorted lengths with the least padded tokens + kBatchCostInTokens a
///   batch.
/// Cost: sorts, then at most `token_budget` / length steps a sentence.
std::vector<Batch> plan_batches(std::span<const std::uint32_t> lengths, std::uint32_t token_budget);

}  // namespace minilm
