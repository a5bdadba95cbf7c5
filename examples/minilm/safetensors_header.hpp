// SPDX-License-Identifier: Apache-2.0
//
// The JSON header of a safetensors file, checked against the size of the data block behind it.
// It touches no file.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "minilm/safetensors.hpp"

namespace minilm {

/// The tensors of a header, sorted by their place, which together fill the data block exactly.
/// Units: `data_bytes` is the size of the data block. `path` stands in the messages.
/// Errors: InputError, as told at SafeTensors::open.
std::vector<TensorInfo> parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                                                 const std::string& path);

/// A shape the way messages write it, such as `[30522, 384]`.
std::string shape_name(const std::vector<std::uint64_t>& shape);

}  // namespace minilm
