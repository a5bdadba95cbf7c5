// SPDX-License-Identifier: Apache-2.0
//
// The cuda runtime: on a GPU (make test-gpu), and on the fake libcuda, where kernels run by their
// CPU functions, so that everything around them is tested on any machine.
#include <array>

#include "client/fill_kernel.hpp"
#include "fuzz/fuzz_kernels.hpp"
#include "runtime_under_test.hpp"
#include "support/fake_cuda_device.hpp"
#include "support/integer_kernels.hpp"

namespace berth::conformance {

namespace {

constexpr std::string_view kNoLibrary =
    "It stands on no WebGPU library: there are no entry points to record and no device to adopt.";
constexpr std::string_view kNoWatch =
    "Only the strict reference runtime looks for faults of kernels.";

constexpr std::array kExclusions = {
    Exclusion{"InputsOnRecord.AreBoundReadOnly", kNoLibrary},
    Exclusion{"InputsOnRecord.AndOutputsShareABufferAcrossDispatches", kNoLibrary},
    Exclusion{"HostDevice.IsAdoptedAndLeftUntouched", kNoLibrary},
    Exclusion{"HostDevice.KeepsItsErrorScopesAndCallbacks", kNoLibrary},
    Exclusion{"ExclusionOff.IsRefusedByTheJudgeAndByTheDevice", kNoLibrary},
    Exclusion{"ExclusionOff.IsRefusedAtTheRuntimesBorder",
              "It has no rule of exclusion that a program could break."},
    Exclusion{"Misuse.AKernelWithoutCodeForTheRuntimeIsNamed",
              "The test's kernel has CUDA code alone; runtime_cuda_tests tries one without."},
    Exclusion{"PlantedKernel.ThatReadsUnwrittenBytesIsFound", kNoWatch},
    Exclusion{"PlantedKernel.ThatBreaksAWritePromiseIsFound", kNoWatch},
    Exclusion{"PlantedKernel.ThatWritesThroughAReadBindingIsFound", kNoWatch},
    Exclusion{"PlantedKernel.ThatWritesPastItsBindingIsFound", kNoWatch},
    Exclusion{
        "Windows.OfEverySizeMakeNoPageOnceTheLargestWasSeen",
        "Where no rule holds, the planner puts transients of odd sizes on two pages to save a "
        "few bytes of padding, and the second one may have to be made."},
};

ConnectOptions on_gpu() {
  ConnectOptions options;
  options.runtime = "cuda";
  return options;
}

ConnectOptions on_fake() {
  for (const Kernel& kernel : test::integer_kernels()) test::teach(kernel);
  for (const Kernel& kernel :
       {client::fill_kernel(), fuzz::add_kernel(), fuzz::increment_kernel(), fuzz::fork_kernel(),
        fuzz::scatter_kernel(), fuzz::accumulate_kernel(), fuzz::gated_kernel()}) {
    test::teach(kernel);
  }
  return test::fake_options();
}

}  // namespace

const RuntimeUnderTest kCuda{"cuda", on_gpu, Data::computed, Exclusive::nothing, {}, kExclusions};
const RuntimeUnderTest kCudaFake{"cuda-fake",        on_fake, Data::computed,
                                 Exclusive::nothing, {},      kExclusions};

}  // namespace berth::conformance
