// SPDX-License-Identifier: Apache-2.0
//
// Finds the CUDA driver and NVRTC that the options ask for and fills their tables. Opens files;
// touches no device.
#pragma once

#include <string>

#include "berth/options.hpp"
#include "runtime/cuda/cuda_table.hpp"

namespace berth::runtime::cuda {

struct DriverLibrary {
  DriverTable table;
  std::string path;
};
struct NvrtcLibrary {
  NvrtcTable table;
  std::string path;
  int major = 0;
  int minor = 0;
};

/// Loads `options.driver_library`; without it $BERTH_CUDA_DRIVER; without that libcuda.so.1.
/// Errors: Error(unavailable) in one sentence.
[[nodiscard]] DriverLibrary load_driver(const CudaOptions& options);

/// Loads `options.nvrtc_library`; without it $BERTH_NVRTC; without that libnvrtc.so.12, then .13,
/// through the loader's search and in the folders where toolkits are installed.
/// Errors: Error(unavailable) in one sentence.
[[nodiscard]] NvrtcLibrary load_nvrtc(const CudaOptions& options);

}  // namespace berth::runtime::cuda
