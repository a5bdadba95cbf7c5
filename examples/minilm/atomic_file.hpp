// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all: it is written beside its place under another name and
// renamed at the end. A link keeps pointing where it points. `-` and things that are no regular
// files (a pipe, /dev/null) cannot be renamed over and are written directly.
// Thread safety: one object, one thread.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace minilm {

/// A file under way. Without `commit` nothing of it stays.
class AtomicFile {
 public:
  /// Makes the temporary file; `-` is standard output.
  /// Errors: OutputError when the path is a folder or its folder cannot be written to.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends bytes.
  /// Errors: OutputError, such as when the disk is full.
  void write(std::string_view bytes);

  /// Puts the file in its place. Nothing may be written afterwards.
  /// Errors: OutputError; the old file, if there was one, is still there.
  void commit();

 private:
  void discard() noexcept;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty when written directly
  std::FILE* file_ = nullptr;
};

}  // namespace minilm
