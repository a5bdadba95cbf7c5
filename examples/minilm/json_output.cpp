// SPDX-License-Identifier: Apache-2.0
//
// Written piece by piece rather than through a JSON tree: 384 floats a sentence would become 384
// heap nodes. std::to_chars gives the shortest text that reads back as the same float.
// Thread safety: see json_output.hpp.
#include "minilm/json_output.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "minilm/atomic_file.hpp"
#include "minilm/input_error.hpp"
#include "minilm/utf8.hpp"

namespace minilm {
namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xFU];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <typename Number>
void append_numbers(std::string& out, std::span<const Number> numbers) {
  std::array<char, 32> text;
  out += '[';
  for (const Number number : numbers) {
    if (out.back() != '[') out += ',';
    const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
    out.append(text.data(), written.ptr);
  }
  out += ']';
}

void check(const EmbeddedSentence& sentence, std::size_t number) {
  if (const auto bad = find_invalid_utf8(sentence.text)) {
    throw InputError("Sentence " + std::to_string(number) + " is not UTF-8 at byte offset " +
                     std::to_string(*bad) + " (" + byte_name(sentence.text[*bad]) + ").");
  }
  for (std::size_t i = 0; i < sentence.embedding.size(); ++i) {
    if (!std::isfinite(sentence.embedding[i])) {
      throw OutputError("The embedding of sentence " + std::to_string(number) + " has " +
                        std::to_string(sentence.embedding[i]) + " as element " + std::to_string(i) +
                        ", which JSON cannot say.");
    }
  }
}

}  // namespace

void write_json(const std::filesystem::path& path, std::span<const EmbeddedSentence> sentences) {
  for (std::size_t i = 0; i < sentences.size(); ++i) check(sentences[i], i + 1);
  AtomicFile file(path);
  file.write("[");
  std::string object;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    object = i == 0 ? "\n" : ",\n";
    object += "{\"text\":";
    append_string(object, sentences[i].text);
    object += ",\"ids\":";
    append_numbers(object, sentences[i].ids);
    object += ",\"embedding\":";
    append_numbers(object, sentences[i].embedding);
    object += '}';
    file.write(object);
  }
  file.write("\n]\n");
  file.commit();
}

}  // namespace minilm
