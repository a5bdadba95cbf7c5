// SPDX-License-Identifier: Apache-2.0
//
// Lines to sentences, and what is refused.
#include "minilm/text_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "berth_build_paths.hpp"
#include "minilm/input_error.hpp"

namespace minilm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string split_error(std::string_view bytes) {
  return error_of([&] { (void)split_sentences(bytes, "'f'"); });
}

TEST(TextInput, MakesEachLineASentence) {
  EXPECT_THAT(split_sentences("one\ntwo\n", "f"), ElementsAre("one", "two"));
  EXPECT_THAT(split_sentences("one\ntwo", "f"), ElementsAre("one", "two"));
}

TEST(TextInput, SkipsEmptyLinesAndTakesWindowsLineEnds) {
  EXPECT_THAT(split_sentences("\n\r\none\r\n\r\n\n two \n\n", "f"), ElementsAre("one", " two "));
}

TEST(TextInput, EndsALineAtLineFeedsOnly) {
  EXPECT_THAT(split_sentences("a\rb\u2028c\u0085d\n", "f"), ElementsAre("a\rb\u2028c\u0085d"));
}

TEST(TextInput, SkipsAByteOrderMark) {
  EXPECT_THAT(split_sentences("\ufeffone\n\ufefftwo\n", "f"), ElementsAre("one", "\ufefftwo"));
}

TEST(TextInput, KeepsAZeroByte) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(split_sentences("a\0b\n"sv, "f"), ElementsAre(std::string("a\0b"sv)));
}

TEST(TextInput, NamesTheLineAndByteThatAreNotUtf8) {
  EXPECT_EQ(split_error("\xFF"), "The text of 'f' is not UTF-8: line 1, byte 1 (0xFF).");
  EXPECT_EQ(split_error("one\n\nab\xC3\n"), "The text of 'f' is not UTF-8: line 3, byte 3 (0xC3).");
}

TEST(TextInput, RefusesATextWithoutASentence) {
  EXPECT_EQ(split_error(""), "The text of 'f' has no sentence: its 0 bytes are empty lines.");
  EXPECT_EQ(split_error("\n\r\n"), "The text of 'f' has no sentence: its 3 bytes are empty lines.");
}

TEST(TextInput, RefusesAMissingFileAndAFolder) {
  EXPECT_EQ(error_of([] { (void)read_sentences("/no/such/file"); }),
            "Cannot read the text file '/no/such/file': No such file or directory.");
  EXPECT_THAT(error_of([] { (void)read_sentences("/"); }), HasSubstr("Is a directory"));
}

TEST(TextInput, ReadsTheTwoHundredSentences) {
  const auto path = std::filesystem::path(berth::build_paths::kSourceDir) /
                    "tests/examples/data/sentences_200.txt";
  EXPECT_EQ(read_sentences(path).size(), 200U);
}

TEST(TextInput, ChecksASentenceOfTheCommandLine) {
  EXPECT_NO_THROW(check_sentence("fine", 1));
  EXPECT_EQ(error_of([] { check_sentence("", 2); }), "Sentence 2 of the command line is empty.");
  EXPECT_EQ(error_of([] { check_sentence("a\x80", 1); }),
            "Sentence 1 of the command line is not UTF-8 at byte 2 (0x80).");
}

}  // namespace
}  // namespace minilm
