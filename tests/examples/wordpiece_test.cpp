// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer against the ids of the `tokenizers` package (scripts/minilm_reference.py), and its
// rules one by one.
#include "minilm/wordpiece.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth_build_paths.hpp"
#include "minilm/bert_words.hpp"
#include "minilm/input_error.hpp"

namespace minilm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::uint32_t>;

const std::filesystem::path kData =
    std::filesystem::path(berth::build_paths::kSourceDir) / "tests/examples/data";

const WordPiece& model_tokenizer() {
  static const WordPiece kTokenizer =
      WordPiece::load(std::filesystem::path(berth::build_paths::kMiniLm) / "vocab.txt");
  return kTokenizer;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for_each_word(text, [&](std::string_view word) {
    found.emplace_back(word);
    return Visit::kNext;
  });
  return found;
}

// A vocabulary small enough to read: ids are the positions.
WordPiece small_tokenizer() {
  return WordPiece::parse(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n##er\nplayer\n.\n[\n]\nx\n", "small");
}
constexpr std::uint32_t kUnk = 1;
constexpr std::uint32_t kCls = 2;
constexpr std::uint32_t kSep = 3;
constexpr std::uint32_t kMask = 4;
constexpr std::uint32_t kPlay = 5;
constexpr std::uint32_t kIng = 6;
constexpr std::uint32_t kPlayer = 8;
constexpr std::uint32_t kDot = 9;
constexpr std::uint32_t kOpen = 10;
constexpr std::uint32_t kX = 12;

std::string error_of(std::string_view text) {
  try {
    (void)small_tokenizer().encode(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string vocabulary_error(std::string_view vocabulary) {
  try {
    (void)WordPiece::parse(vocabulary, "v");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Wordpiece, EqualsTheReferenceOnTwoThousandLines) {
  const std::vector<std::string> lines = read_lines(kData / "tokens_2000.txt");
  const std::vector<std::string> ids = read_lines(kData / "ids_2000.txt");
  ASSERT_EQ(lines.size(), 2000U);
  ASSERT_EQ(ids.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::istringstream stream(ids[i]);
    Ids expected;
    for (std::uint32_t id = 0; stream >> id;) expected.push_back(id);
    EXPECT_EQ(model_tokenizer().encode(lines[i]), expected) << "line " << i + 1;
  }
}

TEST(Wordpiece, PutsTextBetweenClsAndSep) {
  EXPECT_THAT(model_tokenizer().encode("Hello world!"), ElementsAre(101, 7592, 2088, 999, 102));
  EXPECT_THAT(model_tokenizer().encode(""), ElementsAre(101, 102));
  EXPECT_EQ(model_tokenizer().vocab_size(), 30522U);
  EXPECT_EQ(model_tokenizer().special().pad, 0U);
}

TEST(Wordpiece, TakesTheLongestTokenFirst) {
  EXPECT_THAT(small_tokenizer().encode("playing"), ElementsAre(kCls, kPlay, kIng, kSep));
  EXPECT_THAT(small_tokenizer().encode("playering"), ElementsAre(kCls, kPlayer, kIng, kSep));
}

TEST(Wordpiece, MakesAWordWithAnUnknownRestOneUnk) {
  EXPECT_THAT(small_tokenizer().encode("playq. play"), ElementsAre(kCls, kUnk, kDot, kPlay, kSep));
  EXPECT_THAT(small_tokenizer().encode("ing"), ElementsAre(kCls, kUnk, kSep));
}

TEST(Wordpiece, SplitsAnUnknownLongWordIntoOneUnk) {
  std::string hundred = "play";
  while (hundred.size() < 100) hundred += "ing";
  ASSERT_EQ(hundred.size(), 100U);
  EXPECT_EQ(small_tokenizer().encode(hundred).size(), 2U + 1 + 32);
  EXPECT_THAT(small_tokenizer().encode("x" + hundred), ElementsAre(kCls, kUnk, kSep));
}

TEST(Wordpiece, CountsAWordInCodePointsNotInBytes) {
  const auto tokenizer =
      WordPiece::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nж\n##ж\n", "cyrillic");
  std::string word;
  for (int i = 0; i < 100; ++i) word += "ж";
  EXPECT_EQ(tokenizer.encode(word).size(), 102U);
  EXPECT_EQ(tokenizer.encode(word + "ж").size(), 3U);
}

TEST(Wordpiece, FindsSpecialTokensInTheRawTextOnly) {
  EXPECT_THAT(small_tokenizer().encode("x[MASK]x"), ElementsAre(kCls, kX, kMask, kX, kSep));
  EXPECT_THAT(small_tokenizer().encode("[[MASK]"), ElementsAre(kCls, kOpen, kMask, kSep));
  EXPECT_THAT(small_tokenizer().encode("[CLS][SEP]"), ElementsAre(kCls, kCls, kSep, kSep));
  EXPECT_THAT(small_tokenizer().encode("[x"), ElementsAre(kCls, kOpen, kX, kSep));
  EXPECT_EQ(small_tokenizer().encode("[mask]").size(), 5U);
  EXPECT_EQ(small_tokenizer().encode("[MA\u200bSK]").size(), 5U);
}

TEST(Wordpiece, CutsTheEndOffALongText) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "x ";
  const Ids ids = small_tokenizer().encode(text);
  ASSERT_EQ(ids.size(), WordPiece::kMaxTokens);
  EXPECT_EQ(ids.back(), kSep);
  EXPECT_THAT(small_tokenizer().encode("playing x", 3), ElementsAre(kCls, kPlay, kSep));
  EXPECT_THAT(small_tokenizer().encode("[MASK][MASK]", 3), ElementsAre(kCls, kMask, kSep));
  EXPECT_THAT(small_tokenizer().encode("playing", 2), ElementsAre(kCls, kSep));
  EXPECT_THROW((void)small_tokenizer().encode("x", 1), InputError);
}

TEST(Wordpiece, NamesTheByteThatIsNotUtf8) {
  EXPECT_EQ(error_of("ab\xC3("), "The text is not UTF-8 at byte offset 2 (0xC3).");
  EXPECT_THAT(error_of("\xFF"), HasSubstr("byte offset 0 (0xFF)"));
  EXPECT_THAT(error_of("a\xC0\xAF"), HasSubstr("byte offset 1 (0xC0)"));         // overlong
  EXPECT_THAT(error_of("\xED\xA0\x80"), HasSubstr("byte offset 0 (0xED)"));      // surrogate
  EXPECT_THAT(error_of("\xF4\x90\x80\x80"), HasSubstr("byte offset 0 (0xF4)"));  // > U+10FFFF
  EXPECT_THAT(error_of("x\xE2\x82"), HasSubstr("byte offset 1 (0xE2)"));         // cut
}

TEST(Wordpiece, RefusesAVocabularyThatCannotBeRight) {
  EXPECT_EQ(vocabulary_error("[PAD]\n[UNK]\n[CLS]\n[SEP]\n"),
            "The vocabulary 'v' has 4 tokens and lacks the special token [MASK].");
  EXPECT_EQ(vocabulary_error("a\nb\na\n"),
            "The vocabulary 'v' has the token 'a' of line 1 again in line 3.");
  EXPECT_EQ(vocabulary_error("a\n\nb\n"), "The vocabulary 'v' has an empty token in line 2.");
  EXPECT_THAT(vocabulary_error("a\n\xFF\n"), HasSubstr("is not UTF-8 at byte offset 2 (0xFF)"));
  EXPECT_THAT(vocabulary_error(""), HasSubstr("lacks the special token [PAD]"));
  EXPECT_THROW(WordPiece::load("/no/such/vocab.txt"), InputError);
}

TEST(BertWords, LowersAndStripsAccents) {
  EXPECT_THAT(words("Ünïcôdé ÉCOLE Straße ΟΔΟΣ"),
              ElementsAre("unicode", "ecole", "straße", "οδοσ"));
  EXPECT_THAT(words("e\u0301\u0323 \u0130I\u0131"), ElementsAre("e", "ii\u0131"));
  EXPECT_THAT(words("\u0301"), ElementsAre());
}

TEST(BertWords, TakesHangulApart) { EXPECT_THAT(words("한"), ElementsAre("\u1112\u1161\u11ab")); }

TEST(BertWords, SplitsAroundPunctuationAndCjk) {
  EXPECT_THAT(words("it's $5.—«x»"),
              ElementsAre("it", "'", "s", "$", "5", ".", "—", "«", "x", "»"));
  EXPECT_THAT(words("a漢字b ひら"), ElementsAre("a", "漢", "字", "b", "ひら"));
}

TEST(BertWords, RemovesControlAndFormatCharacters) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(words("a\0b\x7F\u200b\u00ad\ufeff\ufffd\ue000c"sv), ElementsAre("abc"));
  EXPECT_THAT(words("a\tb\nc\rd\u00a0e\u3000f\u2028g"),
              ElementsAre("a", "b", "c", "d", "e", "f", "g"));
  EXPECT_THAT(words("a\x0B\x0C\u0085z"), ElementsAre("az"));
}

// Each row fails if the table of that rule had another Unicode version.
TEST(BertWords, KeepsTheUnicodeVersionsOfTheReference) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows = {
      {"a\u0378z", {"a\u0378z"}},                  // unassigned: kept
      {"a\u08e2z", {"a\u08e2z"}},                  // Cf since 9.0: kept
      {"a\u2e43z", {"a\u2e43z"}},                  // punctuation since 9.0: a letter
      {"a\u166dz", {"a", "\u166d", "z"}},          // punctuation until 12.0
      {"a\U000111c9z", {"a", "\U000111c9", "z"}},  // punctuation in 8.0, a mark now
      {"a\u1885z", {"a\u1885z"}},                  // a letter in 8.0, a mark now
      {"a\u1734z", {"az"}},                        // a nonspacing mark in 8.0
      {"a\u0d3bz", {"a\u0d3bz"}},                  // a mark since 10.0: kept
      {"\U00011938", {"\U00011938"}},              // decomposes since 13.0
      {"\ua7cb\u1c89", {"\u0264\u1c8a"}},          // lower case since 16.0
      {"\U00016ea0", {"\U00016ebb"}},              // lower case since 17.0
      {"a\U0002b91fz", {"a\U0002b91fz"}},          // the hole in the reference's list of CJK blocks
      {"a\U0002b920z", {"a", "\U0002b920", "z"}},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(words(text), expected) << text;
}

}  // namespace
}  // namespace minilm
