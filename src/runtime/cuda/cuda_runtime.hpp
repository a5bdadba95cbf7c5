// SPDX-License-Identifier: Apache-2.0
//
// The cuda runtime: the CUDA driver API and NVRTC, both loaded at run time. No exclusion list; a
// repeated program is one launch of a CUDA graph. See runtime/backend.hpp for the contract.
#pragma once

#include <memory>

#include "berth/options.hpp"
#include "runtime/backend.hpp"

namespace berth::runtime {

/// Errors: Error(unavailable) if the driver, NVRTC or a device is not there;
///   Error(invalid_argument) for options that make no sense.
[[nodiscard]] std::unique_ptr<Backend> make_cuda(const ConnectOptions& options);

}  // namespace berth::runtime
