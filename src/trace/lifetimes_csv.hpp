// SPDX-License-Identifier: Apache-2.0
//
// MiniMalloc's CSV: a header `id,lower,upper,size[,offset]` (columns in any order), then one buffer
// a line with a half-open lifetime. Format: https://github.com/google/minimalloc. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/window.hpp"

namespace berth::trace {

/// A buffer with an address, as MiniMalloc answers it.
struct PlacedBuffer {
  Buffer buffer;
  Bytes offset = 0;
};

/// Reads buffers; a column `offset` is checked and left out. `source` names the text in errors.
/// Errors: Error(invalid_argument), one sentence with the line: a column missing, unknown or
/// double, a line with another number of fields, a field that is no whole number, a size that is
/// negative or above kMostBytes, alone or together, a lifetime that ends before it begins, a double
/// id.
[[nodiscard]] Lifetimes read_lifetimes_csv(std::string_view text, std::string_view source);

/// Writes `id,lower,upper,size,offset`.
[[nodiscard]] std::string write_lifetimes_csv(const std::vector<PlacedBuffer>& buffers);

}  // namespace berth::trace
