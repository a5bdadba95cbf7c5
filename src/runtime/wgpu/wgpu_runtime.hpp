// SPDX-License-Identifier: Apache-2.0
//
// The wgpu runtime: WebGPU through a table of entry points loaded at run time, or given by the
// caller, so one binary runs on wgpu-native and on Dawn. See runtime/backend.hpp for the contract.
#pragma once

#include <memory>

#include "berth/options.hpp"
#include "runtime/backend.hpp"

namespace berth::runtime {

/// Errors: Error(unavailable) if a library, function, adapter or device is not there;
///   Error(invalid_argument) for options that make no sense.
[[nodiscard]] std::unique_ptr<Backend> make_wgpu(const ConnectOptions& options);

}  // namespace berth::runtime
