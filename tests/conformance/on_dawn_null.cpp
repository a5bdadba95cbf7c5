// SPDX-License-Identifier: Apache-2.0
//
// Dawn's Null backend: full validation of every command, and nothing runs.
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
  ConnectOptions options;
  options.runtime = "wgpu";
  options.webgpu.backend = "null";
  return options;
}

}  // namespace

const RuntimeUnderTest kDawnNull{"dawn-null",        options,    Data::none, Exclusive::pages,
                                 build_paths::kDawn, kExclusions};

}  // namespace berth::conformance
