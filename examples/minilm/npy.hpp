// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes a matrix of float32 as NumPy's .npy, version 1.0. It refuses every other dtype,
// order and number of dimensions.
// Thread safety: pure functions of their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace minilm {

/// A matrix in row-major order.
struct Matrix {
  std::uint64_t rows;
  std::uint64_t columns;
  std::vector<float> values;
};

/// Writes a matrix; the file appears whole or not at all. `-` is standard output.
/// Shape: `values` is rows x columns, row by row, and its size a multiple of `columns`.
/// Errors: OutputError when it cannot be written; std::invalid_argument when the sizes disagree.
void write_npy(const std::filesystem::path& path, std::span<const float> values,
               std::uint64_t columns);

/// Reads what `write_npy` writes (little-endian float32, C order, two dimensions).
/// Errors: InputError when the file is missing, cut, or of another kind.
Matrix read_npy(const std::filesystem::path& path);

}  // namespace minilm
