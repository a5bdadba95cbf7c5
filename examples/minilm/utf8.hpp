// SPDX-License-Identifier: Apache-2.0
//
// Finds the first byte of a text that is not UTF-8, by the rule of the Unicode standard, table 3-7:
// no overlong form, no surrogate, nothing above U+10FFFF, no cut sequence. It repairs nothing.
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace minilm {

/// The byte offset at which `text` stops being UTF-8, or nothing when all of it is.
/// Units: bytes, from 0; the first byte of the sequence that does not hold.
/// Cost: one pass.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// A byte the way error messages name it, such as `0xC3`.
std::string byte_name(char byte);

}  // namespace minilm
