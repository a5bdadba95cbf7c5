// SPDX-License-Identifier: Apache-2.0
//
// Whole-file reading over C stdio, so that pipes work and errno tells why it failed.
// Thread safety: pure functions.
#include "minilm/file_reader.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "minilm/input_error.hpp"

namespace minilm {
namespace {

InputError cannot_read(const std::string& what) {
  return InputError("Cannot read " + what + ": " + std::strerror(errno) + ".");
}

std::string drain(std::FILE* file, const std::string& what) {
  std::string bytes;
  std::array<char, 1U << 16U> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) {
    bytes.append(buffer.data(), count);
  }
  if (std::ferror(file) != 0) throw cannot_read(what);
  return bytes;
}

}  // namespace

std::string read_whole_file(const std::filesystem::path& path, std::string_view what) {
  const std::string name = "the " + std::string(what) + " '" + path.string() + "'";
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw cannot_read(name);
  return drain(file.get(), name);
}

std::string read_standard_input() { return drain(stdin, "standard input"); }

}  // namespace minilm
