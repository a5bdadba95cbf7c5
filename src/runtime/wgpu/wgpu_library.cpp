// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_library.hpp"

#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "platform/dynamic_library.hpp"

namespace berth::runtime::wgpu {

namespace {

constexpr std::array kDefaultNames{"libwgpu_native.so", "libwebgpu_dawn.so"};

std::string named_with_version(const Table& table) {
  if (table.GetVersion == nullptr) return name_of(table.kind);
  const std::uint32_t v = table.GetVersion();
  return text(name_of(table.kind), " ", v >> 24U, ".", (v >> 16U) & 255U, ".", (v >> 8U) & 255U,
              ".", v & 255U);
}

Library load(const std::string& path) {
  const platform::DynamicLibrary file(path);
  Library library;
  library.table = fill_table([&](const char* name) { return file.symbol(name); }, file.path());
  library.name = named_with_version(library.table);
  library.path = file.path();
  return library;
}

}  // namespace

Library load_library(const WebGpuOptions& options) {
  if (options.get_proc != nullptr) {
    Library library;
    library.path = "given by the caller";
    library.table =
        fill_table([&](const char* name) { return options.get_proc(options.get_proc_user, name); },
                   library.path);
    library.name = named_with_version(library.table);
    return library;
  }
  if (!options.library.empty()) return load(options.library);
  const std::string from_environment = platform::environment("BERTH_WEBGPU_LIBRARY");
  if (!from_environment.empty()) return load(from_environment);

  std::string reasons;
  for (const char* name : kDefaultNames) {
    try {
      return load(name);
    } catch (const Error& error) {
      reasons += text(" ", error.what());
    }
  }
  throw Error(ErrorCode::unavailable,
              text("No WebGPU library was found: name one in ConnectOptions::webgpu.library or in "
                   "the variable BERTH_WEBGPU_LIBRARY.",
                   reasons));
}

}  // namespace berth::runtime::wgpu
