// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the JSON readers. See json_text.hpp.
#include "trace/json_text.hpp"

#include <algorithm>
#include <charconv>

namespace berth::trace {

using nlohmann::json;

json parse_json(std::string_view text, Source source) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    refuse(source, "the file is empty.");
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column =
        newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    // Its text ends in the reason, after the last "- " or ": ".
    std::string reason = error.what();
    const std::size_t dash = reason.find(" - ");
    reason = dash == std::string::npos ? "unexpected end or character" : reason.substr(dash + 3);
    const auto stray = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    std::ranges::replace_if(reason, stray, '?');
    refuse(source, "line " + std::to_string(line) + ", column " + std::to_string(column) +
                       " is no JSON: " + reason + ".");
  }
}

std::string kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "a truth value";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
      return "the number " + value.dump();
    case json::value_t::binary:
    case json::value_t::discarded:
      break;
  }
  return "nothing";
}

std::string value_text(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.is_structured() || value.is_null() || value.is_boolean() ? kind_of(value)
                                                                        : value.dump();
}

Bytes read_size(const json& value, Source source, const std::string& owner) {
  if (!value.is_number_unsigned() || value.get<Bytes>() > kMostBytes) {
    refuse(source, "the size of " + owner + " must be a whole number of bytes from 0 to " +
                       std::to_string(kMostBytes) + ", but is " + value_text(value) + ".");
  }
  return value.get<Bytes>();
}

nlohmann::ordered_json id_json(const TensorName& id) {
  std::uint64_t number = 0;
  if (id.numeric) {
    const char* const end = id.id.data() + id.id.size();
    const auto parsed = std::from_chars(id.id.data(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  }
  return id.id;
}

}  // namespace berth::trace
