// SPDX-License-Identifier: Apache-2.0
//
// The well-formedness table of the Unicode standard (15.0, table 3-7), row by row.
// Thread safety: pure functions.
#include "minilm/utf8.hpp"

namespace minilm {
namespace {

// The bytes that may follow a lead byte: how many in all, and the range of the first of them.
struct Lead {
  std::size_t followers;
  unsigned char low;
  unsigned char high;
};

std::optional<Lead> read_lead(unsigned char lead) {
  if (lead < 0x80) return Lead{0, 0, 0};
  if (lead < 0xC2) return std::nullopt;  // a follower alone, or an overlong form
  if (lead < 0xE0) return Lead{1, 0x80, 0xBF};
  if (lead == 0xE0) return Lead{2, 0xA0, 0xBF};  // below: overlong
  if (lead == 0xED) return Lead{2, 0x80, 0x9F};  // above: surrogates
  if (lead < 0xF0) return Lead{2, 0x80, 0xBF};
  if (lead == 0xF0) return Lead{3, 0x90, 0xBF};  // below: overlong
  if (lead < 0xF4) return Lead{3, 0x80, 0xBF};
  if (lead == 0xF4) return Lead{3, 0x80, 0x8F};  // above: past U+10FFFF
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::optional<Lead> lead = read_lead(static_cast<unsigned char>(text[at]));
    if (!lead || text.size() - at <= lead->followers) return at;
    for (std::size_t i = 1; i <= lead->followers; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      const unsigned char low = i == 1 ? lead->low : static_cast<unsigned char>(0x80);
      const unsigned char high = i == 1 ? lead->high : static_cast<unsigned char>(0xBF);
      if (byte < low || byte > high) return at;
    }
    at += 1 + lead->followers;
  }
  return std::nullopt;
}

std::string byte_name(char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return std::string("0x") + kDigits[value >> 4U] + kDigits[value & 0xFU];
}

}  // namespace minilm
