// SPDX-License-Identifier: Apache-2.0
//
// wgpu-native on lavapipe, the system's Vulkan driver.
#include <array>
#include <cstdlib>

#include "berth_build_paths.hpp"
#include "runtime_under_test.hpp"

namespace berth::conformance {

namespace {

constexpr std::string_view kNotStrict =
    "Only the strict reference runtime looks for faults of kernels.";

constexpr std::array kExclusions = {
    Exclusion{"PlantedKernel.ThatReadsUnwrittenBytesIsFound", kNotStrict},
    Exclusion{"PlantedKernel.ThatBreaksAWritePromiseIsFound", kNotStrict},
    Exclusion{"PlantedKernel.ThatWritesThroughAReadBindingIsFound", kNotStrict},
    Exclusion{"PlantedKernel.ThatWritesPastItsBindingIsFound", kNotStrict},
};

ConnectOptions options() {
  unsetenv("VK_ICD_FILENAMES");  // NOLINT: no thread yet
  ConnectOptions options;
  options.runtime = "wgpu";
  options.webgpu.adapter_name = "llvmpipe";
  return options;
}

}  // namespace

const RuntimeUnderTest kWgpuLavapipe{"wgpu-lavapipe",          options,
                                     Data::computed,           Exclusive::pages,
                                     build_paths::kWgpuNative, kExclusions};

}  // namespace berth::conformance
