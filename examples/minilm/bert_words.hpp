// SPDX-License-Identifier: Apache-2.0
//
// Turns text into the words that WordPiece cuts: BERT's clean-up, CJK spacing, NFD without accents,
// lower case, then a cut at white space and around punctuation. Equal, code point for code point,
// to BertNormalizer + BertPreTokenizer of the `tokenizers` package, whose tables are of three
// Unicode versions (bert_words.cpp says which). It knows neither vocabulary nor special tokens.
// Thread safety: a pure function; its tables are made once and are then read-only.
#pragma once

#include <functional>
#include <string_view>

namespace minilm {

/// What a visitor wants after a word.
enum class Visit { kNext, kStop };

/// Calls `visit` with each word of `text`, in order, until it answers `kStop`.
/// Units: `text` is valid UTF-8 (the caller has checked), at most 256 MiB (counted in 32 bits,
/// and NFD may triple it); words are never empty
/// and live for the call only.
/// Cost: three passes over the text, two copies of it.
void for_each_word(std::string_view text, const std::function<Visit(std::string_view)>& visit);

}  // namespace minilm
