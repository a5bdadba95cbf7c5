// SPDX-License-Identifier: Apache-2.0
//
// The one kernel the library brings along: fills a tensor with a 32-bit value that is not zero
// (zeros are a command of every device). Constant; safe from any thread.
#pragma once

#include "berth/kernel.hpp"
#include "berth/uniforms.hpp"

namespace berth::client {

struct FillUniforms {
  std::uint32_t value = 0;
  std::uint32_t n = 0;
};

/// Bindings: out (write, u32). Uniforms: FillUniforms. Grid: cover(n, kFillGroup).
[[nodiscard]] const Kernel& fill_kernel();
inline constexpr std::uint32_t kFillGroup = 64;

}  // namespace berth::client
