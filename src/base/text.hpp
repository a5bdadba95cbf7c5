// SPDX-License-Identifier: Apache-2.0
//
// Sentences for errors and reports: joins words and numbers without a formatting library. Pure;
// safe from any thread. Not for hot paths: it allocates.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "berth/units.hpp"

namespace berth {

namespace detail {
inline void append_part(std::string& out, std::string_view part) { out += part; }
inline void append_part(std::string& out, const char* part) { out += part; }
inline void append_part(std::string& out, char part) { out += part; }
template <class T>
  requires(std::integral<T> || std::floating_point<T>)
void append_part(std::string& out, T number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}
}  // namespace detail

/// Joins its arguments: text as it is, numbers in plain decimal.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_part(out, parts), ...);
  return out;
}

/// "[64, 128)"
[[nodiscard]] inline std::string to_text(Range range) {
  return text('[', range.offset, ", ", range.end(), ')');
}

/// "1.5 MiB" for people; whole bytes below 1 KiB.
[[nodiscard]] std::string human_bytes(Bytes bytes);

}  // namespace berth
