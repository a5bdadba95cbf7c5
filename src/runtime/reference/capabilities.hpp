// SPDX-License-Identifier: Apache-2.0
//
// What the CPU runtimes say about themselves: generous limits, or the portable ones of WebGPU.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"

namespace berth::runtime::reference {

/// No dispatch has more storage bindings.
inline constexpr std::uint32_t kMostBindings = 32;

[[nodiscard]] Capabilities fast_capabilities(const ConnectOptions& options);
/// Source: WebGPU, "Limits": the defaults every device has.
[[nodiscard]] Capabilities strict_capabilities(const ConnectOptions& options);

/// Threads that may compute, the calling one included.
[[nodiscard]] std::uint32_t thread_count(const ConnectOptions& options);

}  // namespace berth::runtime::reference
