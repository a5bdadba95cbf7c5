// SPDX-License-Identifier: Apache-2.0
//
// The reference (`tokenizers` 0.23.3) takes its character tables from three places, each frozen at
// another Unicode version; measured over all 1,112,064 code points:
//   categories (control, Mn, punctuation): crate unicode_categories 0.1.1, Unicode 8.0;
//   NFD: crate unicode-normalization-alignments 0.1, Unicode 9.0;
//   lower case and white space: Rust's std, Unicode 17.0.
// ICU 72 knows Unicode 15.0. Its `age` property takes it back to an older version: a code point
// younger than a table is unassigned there. What remains are code points whose category was
// changed later, and lower-case pairs younger than ICU; both are written down below.
// Thread safety: the tables are function-local statics, frozen, read-only afterwards.
#include "minilm/bert_words.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace minilm {
namespace {

// Removed by the clean-up: Cc, Cf, Co, U+0000 and U+FFFD, but never tab, line feed, return.
constexpr const char16_t* kRemovedPattern =
    u"[[[:Cc:][:Cf:][:Co:]]&[:age=8.0:] - [\\u0009\\u000A\\u000D] \\uFFFD]";

// Nonspacing marks of Unicode 8.0. Became Mn later: U+1885, U+1886, U+A9BD, U+111C9; was Mn then:
// U+1734.
constexpr const char16_t* kNonspacingPattern =
    u"[[[:Mn:]&[:age=8.0:]] - [\\u1885\\u1886\\uA9BD\\U000111C9] \\u1734]";

// Punctuation of Unicode 8.0, and ASCII's symbols. Was punctuation then: U+166D, U+111C9.
constexpr const char16_t* kPunctuationPattern =
    u"[[[:P:]&[:age=8.0:]] \\u166D \\U000111C9 [!-/] [\\:-@] [\\[-`] [\\{-~]]";

// NFD of Unicode 9.0: code points outside stay as they are and nothing is reordered across them.
constexpr const char16_t* kDecomposedPattern = u"[:age=9.0:]";

// Lower-case pairs of Unicode 16.0 and 17.0 (UnicodeData.txt): [first, last] moves by `shift`.
struct CaseRange {
  char32_t first;
  char32_t last;
  std::int32_t shift;
};
constexpr std::array<CaseRange, 10> kYoungCapitals{{
    {0x1C89, 0x1C89, 1},
    {0xA7CB, 0xA7CB, 0x0264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},
    {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},
    {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},
    {0xA7DC, 0xA7DC, 0x019B - 0xA7DC},
    {0x10D50, 0x10D65, 0x20},
    {0x16EA0, 0x16EB8, 0x1B},
}};

void check(UErrorCode code, const char* what) {
  if (U_FAILURE(code)) {
    throw std::runtime_error(std::string("ICU cannot make the table of ") + what + ": " +
                             u_errorName(code) + ".");
  }
}

icu::UnicodeSet make_set(const char16_t* pattern, const char* what) {
  UErrorCode code = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString(pattern), code);
  check(code, what);
  set.freeze();
  return set;
}

const icu::Normalizer2& nfd() {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* instance = icu::Normalizer2::getNFDInstance(code);
  check(code, "decompositions");
  return *instance;
}

struct Tables {
  icu::UnicodeSet removed = make_set(kRemovedPattern, "removed code points");
  icu::UnicodeSet nonspacing = make_set(kNonspacingPattern, "nonspacing marks");
  icu::UnicodeSet punctuation = make_set(kPunctuationPattern, "punctuation");
  icu::UnicodeSet decomposed = make_set(kDecomposedPattern, "decompositions");
  icu::FilteredNormalizer2 normalizer{nfd(), decomposed};
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

// The reference's own list of CJK blocks. Its fifth block starts at 2B920, not at 2B820 where
// extension E starts: a slip there, and therefore right here.
bool is_cjk(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// One code point at a time, without context: a final sigma is not special. No multi-character
// mapping is met, because the only one (U+0130) has been taken apart by NFD.
UChar32 lower(UChar32 c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  const auto range =
      std::ranges::lower_bound(kYoungCapitals, static_cast<char32_t>(c), {}, &CaseRange::last);
  if (range != kYoungCapitals.end() && range->first <= static_cast<char32_t>(c)) {
    return c + range->shift;
  }
  return u_tolower(c);
}

UChar32 next(std::string_view text, std::int32_t& at) {
  UChar32 c = 0;
  U8_NEXT_UNSAFE(reinterpret_cast<const std::uint8_t*>(text.data()), at, c);
  return c;
}

void append(std::string& text, UChar32 c) {
  std::array<std::uint8_t, U8_MAX_LENGTH> bytes;
  std::int32_t count = 0;
  U8_APPEND_UNSAFE(bytes.data(), count, c);
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

// Clean-up and spaces around CJK.
std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < size;) {
    const UChar32 c = next(text, at);
    if (tables().removed.contains(c)) continue;
    if (u_isUWhiteSpace(c) != 0) {
      out += ' ';
    } else if (is_cjk(c)) {
      out += ' ';
      append(out, c);
      out += ' ';
    } else {
      append(out, c);
    }
  }
  return out;
}

std::string decompose(const std::string& text) {
  std::string out;
  UErrorCode code = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(text.size()));
  tables().normalizer.normalizeUTF8(0, text, sink, nullptr, code);
  if (U_FAILURE(code)) {
    throw std::runtime_error("ICU cannot decompose a text of " + std::to_string(text.size()) +
                             " bytes: " + u_errorName(code) + ".");
  }
  return out;
}

}  // namespace

void for_each_word(std::string_view text, const std::function<Visit(std::string_view)>& visit) {
  const std::string decomposed = decompose(clean(text));
  const auto size = static_cast<std::int32_t>(decomposed.size());
  std::string word;
  std::string mark;
  for (std::int32_t at = 0; at < size;) {
    UChar32 c = next(decomposed, at);
    if (tables().nonspacing.contains(c)) continue;
    c = lower(c);
    const bool is_space = u_isUWhiteSpace(c) != 0;
    const bool is_mark = tables().punctuation.contains(c);
    if (!is_space && !is_mark) {
      append(word, c);
      continue;
    }
    if (!word.empty() && visit(word) == Visit::kStop) return;
    word.clear();
    if (!is_mark) continue;
    mark.clear();
    append(mark, c);
    if (visit(mark) == Visit::kStop) return;
  }
  if (!word.empty()) visit(word);
}

}  // namespace minilm
