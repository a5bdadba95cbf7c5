// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's kernels, on 32-bit integers so that results are equal to the bit. Each has all the
// forms the library may choose from: plain, in place, promoted; for WGSL and the CPU (and CUDA).
#pragma once

#include "berth/kernel.hpp"
#include "berth/uniforms.hpp"

namespace berth::fuzz {

/// Uniforms of all of them.
struct FuzzUniforms {
  std::uint32_t value = 0;
  std::uint32_t n = 0;
};

[[nodiscard]] const Kernel& add_kernel();         ///< a, b read; out write; a -> out, b -> out
[[nodiscard]] const Kernel& increment_kernel();   ///< a read; out write; a -> out
[[nodiscard]] const Kernel& fork_kernel();        ///< a read; plus, other write
[[nodiscard]] const Kernel& scatter_kernel();     ///< x read_write, takes any first element
[[nodiscard]] const Kernel& accumulate_kernel();  ///< a read; x read_write
[[nodiscard]] const Kernel& gated_kernel();       ///< x read_write; launched indirectly

}  // namespace berth::fuzz
