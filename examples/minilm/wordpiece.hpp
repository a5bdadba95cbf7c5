// SPDX-License-Identifier: Apache-2.0
//
// WordPiece: text to token ids, equal id for id to the model's own tokenizer.json run by the
// `tokenizers` package with that file's padding and truncation switched off. It refuses text that
// is not UTF-8; it pads nothing and keeps no offsets into the text. Thread safety: a loaded
// tokenizer is immutable; any number of threads may call it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minilm {

/// The ids of the five special tokens.
struct SpecialIds {
  std::uint32_t pad;
  std::uint32_t unk;
  std::uint32_t cls;
  std::uint32_t sep;
  std::uint32_t mask;
};

/// A loaded vocabulary and the cutting of words by it.
class WordPiece {
 public:
  /// The model's longest sequence, [CLS] and [SEP] included.
  static constexpr std::size_t kMaxTokens = 256;
  /// The longest word that is looked up, in code points; a longer one is one [UNK].
  static constexpr std::size_t kMaxWordChars = 100;
  /// The longest text, in bytes: ICU counts in 32 bits, and a text grows while it is normalised.
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28U;

  /// Reads `vocab.txt`: one token a line, the line number from 0 is the id.
  /// Errors: InputError when it cannot be read, is not UTF-8, holds an empty line or a token twice,
  /// or lacks a special token.
  static WordPiece load(const std::filesystem::path& vocab);

  /// The same from the bytes of a `vocab.txt`; `name` stands in the messages.
  static WordPiece parse(std::string_view vocab, std::string_view name);

  /// The ids of `text` between [CLS] and [SEP]; `[MASK]` and the like written in the text are the
  /// special tokens. A longer text loses its end.
  /// Units: `max_tokens` counts [CLS] and [SEP], at least 2.
  /// Errors: InputError when the text is not UTF-8, longer than `kMaxTextBytes`, or `max_tokens` is
  /// below 2.
  /// Cost: normalises the whole text, looks up words until `max_tokens` is reached.
  [[nodiscard]] std::vector<std::uint32_t> encode(std::string_view text,
                                                  std::size_t max_tokens = kMaxTokens) const;

  [[nodiscard]] const SpecialIds& special() const { return special_; }

  /// The number of tokens; every id is below it.
  [[nodiscard]] std::size_t vocab_size() const { return vocab_size_; }

 private:
  // Lets the maps be asked with a string_view.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Ids = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;
  struct SpecialToken {
    std::string_view text;
    std::uint32_t id;
  };

  WordPiece() = default;
  void add_word(std::string_view word, std::vector<std::uint32_t>& ids) const;
  [[nodiscard]] const SpecialToken* special_at(std::string_view text) const;

  Ids heads_;  // tokens that start a word
  Ids tails_;  // tokens that continue one, without their ##
  std::size_t longest_token_ = 0;
  std::size_t vocab_size_ = 0;
  SpecialIds special_{};
  std::array<SpecialToken, 5> special_tokens_{};
};

}  // namespace minilm
