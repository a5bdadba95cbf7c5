// SPDX-License-Identifier: Apache-2.0
//
// Limits: the adapter's true ones are asked for, the options lower them. Pure, but for the queries.
#pragma once

#include <webgpu/webgpu.h>

#include <string>
#include <utility>
#include <vector>

#include "berth/options.hpp"
#include "runtime/backend.hpp"
#include "runtime/wgpu/wgpu_table.hpp"

namespace berth::runtime::wgpu {

/// Errors, both: Error(unavailable) if the library does not tell.
[[nodiscard]] WGPULimits adapter_limits(const Table& api, WGPUAdapter adapter);
[[nodiscard]] WGPULimits device_limits(const Table& api, WGPUDevice device);

/// What to ask a device for: the adapter's limits for all that compute work needs, with the raised
/// offset alignment, so that the device itself refuses what the options forbid.
/// Errors: Error(invalid_argument) if the options' alignment is no power of two.
[[nodiscard]] WGPULimits limits_to_request(const WGPULimits& adapter, const LimitOptions& options);

/// The device's limits in berth's words, lowered by the options.
[[nodiscard]] Limits lowered_limits(const WGPULimits& device, const LimitOptions& options);

void add_limit_facts(const Limits& limits, std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace berth::runtime::wgpu
