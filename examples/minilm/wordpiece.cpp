// SPDX-License-Identifier: Apache-2.0
//
// Vocabulary, special tokens and the greedy longest-match cut. Special tokens are found in the raw
// text, before it is normalised, so `[mask]` and `[ MASK ]` are plain words, and accents do not
// join across one; this is what the reference does with added tokens that are `special` and not
// `normalized`.
// Thread safety: see wordpiece.hpp.
#include "minilm/wordpiece.hpp"

#include <algorithm>
#include <string>

#include "minilm/bert_words.hpp"
#include "minilm/file_reader.hpp"
#include "minilm/input_error.hpp"
#include "minilm/utf8.hpp"

namespace minilm {
namespace {

constexpr std::string_view kContinuation = "##";

bool is_follower(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t count_chars(std::string_view utf8) {
  return utf8.size() -
         static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), is_follower));
}

}  // namespace

WordPiece WordPiece::load(const std::filesystem::path& vocab) {
  return parse(read_whole_file(vocab, "vocabulary"), vocab.string());
}

WordPiece WordPiece::parse(std::string_view vocab, std::string_view name) {
  const auto fail = [&](const std::string& rest) {
    return InputError("The vocabulary '" + std::string(name) + "' " + rest + ".");
  };
  if (const auto bad = find_invalid_utf8(vocab)) {
    throw fail("is not UTF-8 at byte offset " + std::to_string(*bad) + " (" +
               byte_name(vocab[*bad]) + ")");
  }
  WordPiece piece;
  for (std::uint32_t id = 0; !vocab.empty(); ++id) {
    const std::size_t end = std::min(vocab.find('\n'), vocab.size());
    std::string_view token = vocab.substr(0, end);
    vocab.remove_prefix(std::min(end + 1, vocab.size()));
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (token.empty()) throw fail("has an empty token in line " + std::to_string(id + 1));
    const bool is_tail = token.size() > kContinuation.size() && token.starts_with(kContinuation);
    const std::string_view key = is_tail ? token.substr(kContinuation.size()) : token;
    const auto [known, added] = (is_tail ? piece.tails_ : piece.heads_).emplace(key, id);
    if (!added) {
      throw fail("has the token '" + std::string(token) + "' of line " +
                 std::to_string(known->second + 1) + " again in line " + std::to_string(id + 1));
    }
    piece.longest_token_ = std::max(piece.longest_token_, key.size());
    piece.vocab_size_ = id + 1;
  }
  const auto find = [&](std::string_view token) {
    const auto found = piece.heads_.find(token);
    if (found == piece.heads_.end()) {
      throw fail("has " + std::to_string(piece.vocab_size_) +
                 " tokens and lacks the special token " + std::string(token));
    }
    return SpecialToken{token, found->second};
  };
  piece.special_tokens_ = {find("[PAD]"), find("[UNK]"), find("[CLS]"), find("[SEP]"),
                           find("[MASK]")};
  const auto& tokens = piece.special_tokens_;
  piece.special_ = {tokens[0].id, tokens[1].id, tokens[2].id, tokens[3].id, tokens[4].id};
  return piece;
}

std::vector<std::uint32_t> WordPiece::encode(std::string_view text, std::size_t max_tokens) const {
  if (max_tokens < 2) {
    throw InputError("A sequence of " + std::to_string(max_tokens) +
                     " tokens has no room for [CLS] and [SEP]: the least is 2.");
  }
  if (text.size() > kMaxTextBytes) {
    throw InputError("The text has " + std::to_string(text.size()) + " bytes: the limit is " +
                     std::to_string(kMaxTextBytes) + ".");
  }
  if (const auto bad = find_invalid_utf8(text)) {
    throw InputError("The text is not UTF-8 at byte offset " + std::to_string(*bad) + " (" +
                     byte_name(text[*bad]) + ").");
  }
  const std::size_t room = max_tokens - 1;  // [SEP] comes last
  std::vector<std::uint32_t> ids{special_.cls};
  const auto add_words = [&](std::string_view plain) {
    for_each_word(plain, [&](std::string_view word) {
      add_word(word, ids);
      return ids.size() < room ? Visit::kNext : Visit::kStop;
    });
  };
  std::size_t start = 0;
  for (std::size_t at = text.find('['); at != std::string_view::npos && ids.size() < room;) {
    const SpecialToken* token = special_at(text.substr(at));
    if (token == nullptr) {
      at = text.find('[', at + 1);
      continue;
    }
    add_words(text.substr(start, at - start));
    ids.push_back(token->id);
    start = at + token->text.size();
    at = text.find('[', start);
  }
  if (ids.size() < room) add_words(text.substr(start));
  if (ids.size() > room) ids.resize(room);
  ids.push_back(special_.sep);
  return ids;
}

// The longest token that the rest of the word starts with, again and again; a word with a rest that
// starts with no token is one [UNK] as a whole.
void WordPiece::add_word(std::string_view word, std::vector<std::uint32_t>& ids) const {
  const std::size_t first = ids.size();
  bool known = count_chars(word) <= kMaxWordChars;
  for (std::size_t start = 0; known && start < word.size();) {
    const Ids& tokens = start == 0 ? heads_ : tails_;
    std::size_t length = std::min(word.size() - start, longest_token_);
    known = false;
    for (; length > 0; --length) {
      const std::size_t end = start + length;
      if (end < word.size() && is_follower(word[end])) continue;
      const auto token = tokens.find(word.substr(start, length));
      if (token == tokens.end()) continue;
      ids.push_back(token->second);
      known = true;
      break;
    }
    start += length;
  }
  if (known) return;
  ids.resize(first);
  ids.push_back(special_.unk);
}

const WordPiece::SpecialToken* WordPiece::special_at(std::string_view text) const {
  for (const SpecialToken& token : special_tokens_) {
    if (text.starts_with(token.text)) return &token;
  }
  return nullptr;
}

}  // namespace minilm
