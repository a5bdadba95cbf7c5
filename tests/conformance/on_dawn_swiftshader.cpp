// SPDX-License-Identifier: Apache-2.0
//
// Dawn on SwiftShader.
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
  setenv("VK_ICD_FILENAMES", build_paths::kSwiftShaderIcd.data(), 1);  // NOLINT: no thread yet
  ConnectOptions options;
  options.runtime = "wgpu";
  options.webgpu.adapter_name = "SwiftShader";
  return options;
}

}  // namespace

const RuntimeUnderTest kDawnSwiftShader{
    "dawn-swiftshader", options, Data::computed, Exclusive::pages, build_paths::kDawn, kExclusions};

}  // namespace berth::conformance
