// SPDX-License-Identifier: Apache-2.0
//
// How readers of this room refuse their input: one sentence that names the source and the place.
// Private to src/trace.
#pragma once

#include <string>
#include <string_view>

#include "berth/error.hpp"

namespace berth::trace {

/// Where a text comes from, for messages: a file's name, or what the caller calls it.
using Source = std::string_view;

/// Throws Error(invalid_argument): "<source>: <sentence>".
[[noreturn]] inline void refuse(Source source, const std::string& sentence) {
  throw Error(ErrorCode::invalid_argument, std::string(source) + ": " + sentence);
}

/// `text` between quotes, cut if it is long, without characters that would break a line.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kMost)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > kMost ? "…\"" : "\"");
}

}  // namespace berth::trace
