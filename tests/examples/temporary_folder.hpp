// SPDX-License-Identifier: Apache-2.0
//
// A fresh folder for a test that writes files, gone when the test ends.
// Thread safety: one object, one thread.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace minilm {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(
            std::filesystem::temp_directory_path() /
            ("berth_examples_test_" + std::to_string(::getpid()) + "_" + std::to_string(next_++))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

  /// How many files lie in it: leftovers show here.
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  static inline std::atomic<int> next_ = 0;
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace minilm
