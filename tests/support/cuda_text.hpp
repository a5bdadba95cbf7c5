// SPDX-License-Identifier: Apache-2.0
//
// The same small body of a test kernel as CUDA source: the words of WGSL that such bodies use mean
// the same there, by a prelude. Not a translator: what is not in the prelude does not compile.
#pragma once

#include <string>
#include <string_view>

#include "berth/kernel.hpp"

namespace berth::test {

/// A kernel whose WGSL is `module`, then main with `i`, `local`, `group`, `groups`, then `body`.
/// The entry point is "test_" and the signature's name. Elements are u32.
[[nodiscard]] KernelCode cuda_code(const KernelSignature& signature, std::string_view body,
                                   std::string_view module);

}  // namespace berth::test
