// SPDX-License-Identifier: Apache-2.0
//
// Only LF ends a line: U+0085, U+2028 and a lone CR are characters of the sentence, which the
// tokenizer knows how to handle.
// Thread safety: see text_input.hpp.
#include "minilm/text_input.hpp"

#include <algorithm>

#include "minilm/file_reader.hpp"
#include "minilm/input_error.hpp"
#include "minilm/utf8.hpp"

namespace minilm {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::vector<std::string> read_sentences(const std::filesystem::path& path) {
  if (path == "-") return split_sentences(read_standard_input(), "standard input");
  return split_sentences(read_whole_file(path, "text file"), "'" + path.string() + "'");
}

std::vector<std::string> split_sentences(std::string_view bytes, std::string_view name) {
  if (const auto bad = find_invalid_utf8(bytes)) {
    const std::string_view before = bytes.substr(0, *bad);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    throw InputError("The text of " + std::string(name) + " is not UTF-8: line " +
                     std::to_string(lines + 1) + ", byte " + std::to_string(*bad - line_start + 1) +
                     " (" + byte_name(bytes[*bad]) + ").");
  }
  std::string_view rest = bytes;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> sentences;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) sentences.emplace_back(line);
  }
  if (sentences.empty()) {
    throw InputError("The text of " + std::string(name) + " has no sentence: its " +
                     std::to_string(bytes.size()) + " bytes are empty lines.");
  }
  return sentences;
}

void check_sentence(std::string_view sentence, std::size_t number) {
  if (sentence.empty()) {
    throw InputError("Sentence " + std::to_string(number) + " of the command line is empty.");
  }
  if (const auto bad = find_invalid_utf8(sentence)) {
    throw InputError("Sentence " + std::to_string(number) +
                     " of the command line is not UTF-8 at byte " + std::to_string(*bad + 1) +
                     " (" + byte_name(sentence[*bad]) + ").");
  }
}

}  // namespace minilm
