// SPDX-License-Identifier: Apache-2.0
//
// The fake libcuda as a device for berth: kernels run by their CPU functions in the place of their
// CUDA code. Whoever uses it links berth and depends on the target berth_fake_cuda.
#pragma once

#include <string>

#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "runtime/cuda/fake/fake_cuda.hpp"

namespace berth::test {

[[nodiscard]] std::string fake_cuda_library();
[[nodiscard]] fake_cuda::Control& fake();
/// Options for the runtime "cuda" with the fake as driver and as NVRTC.
[[nodiscard]] ConnectOptions fake_options();
/// Lets the fake run a kernel's CPU function under the entry point of its CUDA code.
void teach(const Kernel& kernel);

}  // namespace berth::test
