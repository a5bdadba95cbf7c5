// SPDX-License-Identifier: Apache-2.0
//
// The reference runtime, strict: WebGPU's rule, guard bytes, each task run twice on poisoned
// copies.
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
    Exclusion{"Misuse.AKernelThatDoesNotCompileIsNamed",
              "Its kernels are functions of the host's compiler."},
};

ConnectOptions options() {
  ConnectOptions options;
  options.runtime = "reference-strict";
  options.cpu_threads = 2;
  return options;
}

}  // namespace

const RuntimeUnderTest kReferenceStrict{"reference-strict", options, Data::computed,
                                        Exclusive::pages,   {},      kExclusions};

}  // namespace berth::conformance
