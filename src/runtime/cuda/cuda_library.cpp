// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_library.hpp"

#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "platform/dynamic_library.hpp"

namespace berth::runtime::cuda {

namespace {

// 12 first: NVRTC 13 refuses the CUDA text that Slang writes.
constexpr std::array kNvrtcNames{
    "libnvrtc.so.12",
    "libnvrtc.so.13",
    "/usr/local/cuda/lib64/libnvrtc.so.12",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
};

NvrtcLibrary load_nvrtc_from(const std::string& path) {
  const platform::DynamicLibrary file(path);
  NvrtcLibrary library;
  library.path = file.path();
  library.table = fill_nvrtc([&](const char* name) { return file.symbol(name); }, library.path);
  if (library.table.Version(&library.major, &library.minor) != NVRTC_SUCCESS) {
    throw Error(ErrorCode::unavailable,
                text("The run-time compiler ", library.path, " does not tell its version."));
  }
  return library;
}

}  // namespace

DriverLibrary load_driver(const CudaOptions& options) {
  std::string path = options.driver_library;
  if (path.empty()) path = platform::environment("BERTH_CUDA_DRIVER");
  const bool searched = path.empty();
  if (searched) path = "libcuda.so.1";
  try {
    const platform::DynamicLibrary file(path);
    return {fill_driver([&](const char* name) { return file.symbol(name); }, file.path()),
            file.path()};
  } catch (const Error& error) {
    if (!searched) throw;
    throw Error(ErrorCode::unavailable,
                text("There is no usable CUDA driver on this machine (", error.what(), ")"));
  }
}

NvrtcLibrary load_nvrtc(const CudaOptions& options) {
  if (!options.nvrtc_library.empty()) return load_nvrtc_from(options.nvrtc_library);
  const std::string from_environment = platform::environment("BERTH_NVRTC");
  if (!from_environment.empty()) return load_nvrtc_from(from_environment);
  for (const char* name : kNvrtcNames) {
    try {
      return load_nvrtc_from(name);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next one may be there
    }
  }
  throw Error(ErrorCode::unavailable,
              "The run-time compiler libnvrtc.so (12 or 13) was not found: name it in "
              "ConnectOptions::cuda.nvrtc_library or in the variable BERTH_NVRTC.");
}

}  // namespace berth::runtime::cuda
