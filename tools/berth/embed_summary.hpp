// SPDX-License-Identifier: Apache-2.0
//
// What `berth embed` prints for people: how alike sentences are, how long it took. Text only.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "minilm/model.hpp"

namespace berth::tools {

/// More sentences than this make no readable table.
inline constexpr std::size_t kMaxTableSentences = 12;

/// Cosine similarity of each two sentences, as a table.
std::string similarity_table(std::span<const std::string> sentences,
                             std::span<const minilm::Embedding> embeddings);

/// The start of a sentence, at most `limit` code points, on one line.
std::string shortened(std::string_view sentence, std::size_t limit);

}  // namespace berth::tools
