// SPDX-License-Identifier: Apache-2.0
//
// Windows as JSON:
//   {"name", "alignment", "tensors": [{"id", "name", "bytes", "kind"}],
//    "tasks": [{"name", "reads": [ids], "writes": [ids]}]}
// `name`, `kind` and `alignment` (1) may be missing, other members are ignored. An id is a whole
// number or a string. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "trace/window.hpp"

namespace berth::trace {

/// Reads a window. `source` names the text in errors.
/// Errors: Error(invalid_argument), one sentence: malformed JSON (line and column), a member that
/// is missing or of another type, an unknown or double id, a size that is negative, no whole number
/// or above kMostBytes, alone or together.
[[nodiscard]] Window read_window_json(std::string_view text, std::string_view source);

/// Writes a window so that read_window_json() gives it back.
[[nodiscard]] std::string write_window_json(const Window& window);

}  // namespace berth::trace
