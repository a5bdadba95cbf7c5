// SPDX-License-Identifier: Apache-2.0
//
// The file is read, not mapped: a mapped file that is cut while in use ends the process. The bytes
// are taken as they lie, which is little-endian in the format and on every machine berth runs on.
// Thread safety: see safetensors.hpp.
#include "minilm/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>

#include "minilm/input_error.hpp"
#include "minilm/safetensors_header.hpp"

namespace minilm {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");
static_assert(sizeof(float) == 4);

constexpr std::uint64_t kLengthBytes = 8;

}  // namespace

SafeTensors SafeTensors::open(const std::filesystem::path& path) {
  SafeTensors file;
  file.path_ = path.string();
  const auto fail = [&](const std::string& rest) {
    return InputError("The safetensors file '" + file.path_ + "' " + rest + ".");
  };
  std::error_code error;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  if (error) throw fail("cannot be read: " + error.message());
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw fail("cannot be opened");
  const auto read = [&](char* to, std::uint64_t bytes) {
    if (!stream.read(to, static_cast<std::streamsize>(bytes))) {
      throw fail("ends before its " + std::to_string(file_bytes) + " bytes are read");
    }
  };

  if (file_bytes < kLengthBytes) {
    throw fail("has " + std::to_string(file_bytes) + " bytes: a header length alone needs " +
               std::to_string(kLengthBytes));
  }
  std::array<unsigned char, kLengthBytes> length{};
  read(reinterpret_cast<char*>(length.data()), kLengthBytes);
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < length.size(); ++i) {
    header_bytes |= std::uint64_t{length[i]} << (8 * i);
  }
  const std::uint64_t rest = file_bytes - kLengthBytes;
  if (header_bytes > rest) {
    throw fail("says its header has " + std::to_string(header_bytes) + " bytes, but " +
               std::to_string(rest) + " bytes follow: it is cut or no safetensors file");
  }
  if (header_bytes > kMaxHeaderBytes) {
    throw fail("says its header has " + std::to_string(header_bytes) + " bytes: the limit is " +
               std::to_string(kMaxHeaderBytes));
  }
  std::string header(header_bytes, '\0');
  read(header.data(), header_bytes);

  file.data_bytes_ = rest - header_bytes;
  file.tensors_ = parse_safetensors_header(header, file.data_bytes_, file.path_);
  const std::uint64_t floats = (file.data_bytes_ + sizeof(float) - 1) / sizeof(float);
  file.data_ = std::make_unique_for_overwrite<float[]>(floats);
  read(reinterpret_cast<char*>(file.data_.get()), file.data_bytes_);
  return file;
}

const TensorInfo& SafeTensors::info(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &TensorInfo::name);
  if (found == tensors_.end()) {
    throw InputError("The safetensors file '" + path_ + "' has " + std::to_string(tensors_.size()) +
                     " tensors and none is called '" + std::string(name) + "'.");
  }
  return *found;
}

std::span<const float> SafeTensors::f32(std::string_view name,
                                        std::span<const std::uint64_t> shape) const {
  const TensorInfo& found = info(name);
  const auto fail = [&](const std::string& rest) {
    return InputError("The safetensors file '" + path_ + "' has a tensor '" + found.name + "' " +
                      rest + ".");
  };
  if (found.dtype != "F32") throw fail("of dtype " + found.dtype + ", where F32 is needed");
  if (!std::ranges::equal(shape, found.shape)) {
    throw fail("of shape " + shape_name(found.shape) + ", where " +
               shape_name({shape.begin(), shape.end()}) + " is needed");
  }
  if (found.begin % sizeof(float) != 0) {
    throw fail("that starts at byte " + std::to_string(found.begin) +
               " of the data, which is no multiple of 4");
  }
  return {data_.get() + found.begin / sizeof(float), (found.end - found.begin) / sizeof(float)};
}

}  // namespace minilm
