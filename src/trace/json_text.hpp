// SPDX-License-Identifier: Apache-2.0
//
// What the JSON readers and writers of this room share: parsing with a position, values in
// messages, sizes. Private to src/trace; the JSON library is header-only and stays inside.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "berth/units.hpp"
#include "trace/input_text.hpp"
#include "trace/window.hpp"

namespace berth::trace {

/// Parses `text`. Errors: Error(invalid_argument) with line and column.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, Source source);

/// "a list", "a string" …
[[nodiscard]] std::string kind_of(const nlohmann::json& value);

/// The value as it may stand in a message: short, on one line.
[[nodiscard]] std::string value_text(const nlohmann::json& value);

/// Reads the size of `owner`. Errors: negative, no whole number, above kMostBytes.
[[nodiscard]] Bytes read_size(const nlohmann::json& value, Source source, const std::string& owner);

/// An id as it was read: a number or a string.
[[nodiscard]] nlohmann::ordered_json id_json(const TensorName& id);

}  // namespace berth::trace
