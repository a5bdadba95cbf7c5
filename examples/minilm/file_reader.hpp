// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole file (or pipe) into memory, with one sentence when that is not possible.
// It refuses folders and missing files; it looks at no byte of the contents.
// Thread safety: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace minilm {

/// All bytes of a file. `what` names it in the messages ("vocabulary", "text file").
/// Errors: InputError when it is missing, a folder, or cannot be read to its end.
std::string read_whole_file(const std::filesystem::path& path, std::string_view what);

/// All bytes of standard input.
/// Errors: InputError when it cannot be read to its end.
std::string read_standard_input();

}  // namespace minilm
