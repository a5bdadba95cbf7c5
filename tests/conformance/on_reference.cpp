// SPDX-License-Identifier: Apache-2.0
//
// The reference runtime, fast: kernels as CPU functions on several threads, no exclusion.
#include <array>

#include "runtime_under_test.hpp"

namespace berth::conformance {

namespace {

constexpr std::string_view kNoLibrary =
    "It stands on no WebGPU library: there are no entry points to record and no device to adopt.";

constexpr std::array kExclusions = {
    Exclusion{"InputsOnRecord.AreBoundReadOnly", kNoLibrary},
    Exclusion{"InputsOnRecord.AndOutputsShareABufferAcrossDispatches", kNoLibrary},
    Exclusion{"HostDevice.IsAdoptedAndLeftUntouched", kNoLibrary},
    Exclusion{"HostDevice.KeepsItsErrorScopesAndCallbacks", kNoLibrary},
    Exclusion{"ExclusionOff.IsRefusedByTheJudgeAndByTheDevice", kNoLibrary},
    Exclusion{"ExclusionOff.IsRefusedAtTheRuntimesBorder",
              "It has no rule of exclusion that a program could break."},
    Exclusion{"PlantedKernel.ThatReadsUnwrittenBytesIsFound",
              "Only the strict reference runtime looks for faults of kernels."},
    Exclusion{"PlantedKernel.ThatBreaksAWritePromiseIsFound",
              "Only the strict reference runtime looks for faults of kernels."},
    Exclusion{"PlantedKernel.ThatWritesThroughAReadBindingIsFound",
              "Only the strict reference runtime looks for faults of kernels."},
    Exclusion{"PlantedKernel.ThatWritesPastItsBindingIsFound",
              "Only the strict reference runtime looks for faults of kernels."},
    Exclusion{"Misuse.AKernelThatDoesNotCompileIsNamed",
              "Its kernels are functions of the host's compiler."},
    Exclusion{
        "Windows.OfEverySizeMakeNoPageOnceTheLargestWasSeen",
        "Where no rule holds, the planner puts transients of odd sizes on two pages to save a "
        "few bytes of padding, and the second one may have to be made."},
};

ConnectOptions options() {
  ConnectOptions options;
  options.runtime = "reference";
  options.cpu_threads = 2;
  return options;
}

}  // namespace

const RuntimeUnderTest kReference{"reference",        options, Data::computed,
                                  Exclusive::nothing, {},      kExclusions};

}  // namespace berth::conformance
