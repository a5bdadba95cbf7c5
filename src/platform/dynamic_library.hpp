// SPDX-License-Identifier: Apache-2.0
//
// A library that is loaded at run time. It is never unloaded: GPU libraries start threads and leave
// thread-local destructors behind that would run in unmapped code. Safe from any thread.
#pragma once

#include <string>

namespace berth::platform {

/// A loaded library. Cheap to copy.
class DynamicLibrary {
 public:
  /// Loads by path, or by file name through the loader's own search.
  /// Errors: Error(unavailable) with the loader's reason.
  explicit DynamicLibrary(const std::string& path_or_name);

  /// Address of a symbol, or nullptr if the library has none of that name.
  [[nodiscard]] void* symbol(const char* name) const;
  /// Where the file lies that was loaded; the name as given if the loader does not tell.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void* handle_;
  std::string path_;
};

/// Value of an environment variable; empty if it is not set.
[[nodiscard]] std::string environment(const char* name);

}  // namespace berth::platform
