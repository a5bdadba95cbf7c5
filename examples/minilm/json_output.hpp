// SPDX-License-Identifier: Apache-2.0
//
// The result of an embedding run as JSON: a list of {"text", "ids", "embedding"}. Numbers are
// written so that reading them gives the same float back. It refuses what JSON cannot say.
// Thread safety: pure functions of their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace minilm {

/// One sentence and what became of it; a view of the caller's data.
struct EmbeddedSentence {
  std::string_view text;
  std::span<const std::uint32_t> ids;
  std::span<const float> embedding;
};

/// Writes the list, an object a line; the file appears whole or not at all. `-` is standard output.
/// Errors: OutputError when it cannot be written, or when an embedding holds a value that is not
/// finite; InputError when a text is not UTF-8.
void write_json(const std::filesystem::path& path, std::span<const EmbeddedSentence> sentences);

}  // namespace minilm
