// SPDX-License-Identifier: Apache-2.0
//
// What kernels declare, as the judge wants to know it. Uses the public header alone; whoever
// includes this links berth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/access.hpp"
#include "berth/kernel.hpp"
#include "support/wgpu_judge.hpp"

namespace berth::test {

/// Binding i of the signature is group 0, binding i; the pipeline's label is the kernel's name.
[[nodiscard]] inline DeclaredPipeline declared(const Kernel& kernel) {
  DeclaredPipeline pipeline{kernel.name(), {}};
  std::uint32_t binding = 0;
  for (const BindingSignature& b : kernel.signature().bindings) {
    if (b.access == Access::read) pipeline.reads.push_back({0, binding});
    ++binding;
  }
  return pipeline;
}
[[nodiscard]] inline std::vector<DeclaredPipeline> declared(std::span<const Kernel> kernels) {
  std::vector<DeclaredPipeline> all;
  all.reserve(kernels.size());
  for (const Kernel& kernel : kernels) all.push_back(declared(kernel));
  return all;
}

}  // namespace berth::test
