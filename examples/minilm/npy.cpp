// SPDX-License-Identifier: Apache-2.0
//
// Format: numpy.lib.format, version 1.0: magic, a 16-bit header length, a Python dictionary as text
// padded to a multiple of 64 bytes, then the values.
// Thread safety: see npy.hpp.
#include "minilm/npy.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "minilm/atomic_file.hpp"
#include "minilm/file_reader.hpp"
#include "minilm/input_error.hpp"

namespace minilm {
namespace {

static_assert(std::endian::native == std::endian::little, "'<f4' below is little-endian");

constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t kPrefixBytes = 10;  // magic and header length
constexpr std::size_t kAlignment = 64;
constexpr std::string_view kBeforeShape = "{'descr': '<f4', 'fortran_order': False, 'shape': (";

struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
};

std::string make_dictionary(const Shape& shape) {
  return std::string(kBeforeShape) + std::to_string(shape.rows) + ", " +
         std::to_string(shape.columns) + "), }";
}

std::string make_header(const Shape& shape) {
  std::string text = make_dictionary(shape);
  const std::size_t used = (kPrefixBytes + text.size() + 1) % kAlignment;
  text.append(used == 0 ? 0 : kAlignment - used, ' ');
  text += '\n';
  std::string header(kMagic);
  header += static_cast<char>(text.size() & 0xFFU);
  header += static_cast<char>(text.size() >> 8U);
  return header + text;
}

// NumPy writes the dictionary always in the same way, so it can be compared instead of parsed.
std::optional<Shape> read_shape(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \n") + 1);
  if (!text.starts_with(kBeforeShape)) return std::nullopt;
  Shape shape{};
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data() + kBeforeShape.size(), end, shape.rows);
  if (rows.ec != std::errc{} || end - rows.ptr < 2) return std::nullopt;
  const auto columns = std::from_chars(rows.ptr + 2, end, shape.columns);  // behind ", "
  if (columns.ec != std::errc{} || text != make_dictionary(shape)) return std::nullopt;
  return shape;
}

}  // namespace

void write_npy(const std::filesystem::path& path, std::span<const float> values,
               std::uint64_t columns) {
  if (columns == 0 || values.size() % columns != 0) {
    throw std::invalid_argument("A matrix of " + std::to_string(values.size()) +
                                " values has no whole number of rows of " +
                                std::to_string(columns) + ".");
  }
  AtomicFile file(path);
  file.write(make_header({values.size() / columns, columns}));
  file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  file.commit();
}

Matrix read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_whole_file(path, "npy file");
  const auto fail = [&](const std::string& rest) {
    return InputError("The npy file '" + path.string() + "' " + rest + ".");
  };
  if (bytes.size() < kPrefixBytes || !bytes.starts_with(kMagic)) {
    throw fail("does not start as version 1.0 of the format does");
  }
  const std::size_t text_bytes = static_cast<unsigned char>(bytes[8]) +
                                 (std::size_t{static_cast<unsigned char>(bytes[9])} << 8U);
  const std::size_t start = kPrefixBytes + text_bytes;
  if (start > bytes.size()) {
    throw fail("says its header ends at byte " + std::to_string(start) + " and has " +
               std::to_string(bytes.size()));
  }
  const std::optional<Shape> shape = read_shape({bytes.data() + kPrefixBytes, text_bytes});
  if (!shape) throw fail("is not a matrix of little-endian float32 in C order");
  const std::uint64_t value_bytes = bytes.size() - start;
  const std::uint64_t count = value_bytes / sizeof(float);
  const auto [rows, columns] = *shape;
  if ((columns != 0 && rows > count / columns) || rows * columns * sizeof(float) != value_bytes) {
    throw fail("has " + std::to_string(value_bytes) + " bytes of values, which are not " +
               std::to_string(rows) + " x " + std::to_string(columns) + " floats");
  }
  Matrix matrix{rows, columns, {}};
  matrix.values.resize(count);
  if (value_bytes != 0) std::memcpy(matrix.values.data(), bytes.data() + start, value_bytes);
  return matrix;
}

}  // namespace minilm
