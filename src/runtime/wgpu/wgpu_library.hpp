// SPDX-License-Identifier: Apache-2.0
//
// Finds the WebGPU library that the options ask for and fills a table from it, or takes the
// caller's functions. Opens files; makes no device.
#pragma once

#include <string>

#include "berth/options.hpp"
#include "runtime/wgpu/wgpu_table.hpp"

namespace berth::runtime::wgpu {

struct Library {
  Table table;
  std::string name;  ///< "wgpu-native 29.0.0.0", "Dawn", …
  std::string path;  ///< "given by the caller" if it was
};

/// Loads `options.library`; without it $BERTH_WEBGPU_LIBRARY; without that libwgpu_native.so and
/// then libwebgpu_dawn.so through the loader's search. `options.get_proc` comes before all of
/// these. Errors: Error(unavailable) with the reason for each one tried.
[[nodiscard]] Library load_library(const WebGpuOptions& options);

}  // namespace berth::runtime::wgpu
