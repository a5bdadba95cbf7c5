// SPDX-License-Identifier: Apache-2.0
//
// Reads a safetensors file: a length, a JSON header, one block of bytes. Nothing in it is believed:
// every length, offset, dtype and shape is checked before a byte of a tensor is handed out. It
// hands out F32 only; other dtypes are listed. It writes nothing. Thread safety: an opened file is
// immutable; any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minilm {

/// What the header says of one tensor, after it has been checked.
struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin;  // bytes from the start of the data block, half-open
  std::uint64_t end;
};

/// A checked safetensors file, held in memory as a whole.
class SafeTensors {
 public:
  /// The longest header, in bytes: the format's own limit.
  static constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

  /// Reads and checks the file.
  /// Errors: InputError, one sentence with value, limit and the tensor's name: not a file, cut, a
  /// header longer than the file or not JSON, a name twice, an unknown dtype, offsets out of range,
  /// overlapping or with a hole between them, a shape whose bytes are not the range's.
  /// Cost: one read of the file.
  static SafeTensors open(const std::filesystem::path& path);

  /// All tensors, in the order of their bytes.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return tensors_; }

  /// One tensor's entry.
  /// Errors: InputError when there is none of that name.
  [[nodiscard]] const TensorInfo& info(std::string_view name) const;

  /// The values of an F32 tensor, row by row.
  /// Shape: must be exactly `shape`.
  /// Returns: a view that lives as long as this object.
  /// Errors: InputError when the tensor is missing, of another dtype or shape, or not on a 4-byte
  /// border of the data block.
  [[nodiscard]] std::span<const float> f32(std::string_view name,
                                           std::span<const std::uint64_t> shape) const;

 private:
  SafeTensors() = default;

  std::string path_;
  std::vector<TensorInfo> tensors_;
  std::unique_ptr<float[]> data_;  // floats, so that a view of floats is no cast of raw bytes
  std::uint64_t data_bytes_ = 0;
};

}  // namespace minilm
