// SPDX-License-Identifier: Apache-2.0
//
// Sentences from a text file or standard input: one line is one sentence. It trims nothing but the
// line's end, and refuses a file that is not UTF-8 as a whole, so that no half of it is used.
// Thread safety: pure functions, except for reading standard input.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace minilm {

/// The sentences of a file, in order; `-` is standard input. Lines end with LF or CRLF; empty lines
/// and a byte order mark at the start are skipped.
/// Errors: InputError when the file is missing, a folder, not UTF-8 (line and byte are told), or
/// has no sentence.
std::vector<std::string> read_sentences(const std::filesystem::path& path);

/// The same from bytes that are there already; `name` stands in the messages.
std::vector<std::string> split_sentences(std::string_view bytes, std::string_view name);

/// Checks a sentence of the command line; `number` counts from 1.
/// Errors: InputError when it is empty or not UTF-8.
void check_sentence(std::string_view sentence, std::size_t number);

}  // namespace minilm
