// SPDX-License-Identifier: Apache-2.0
//
// Which adapter: by backend, by name, or the fastest. Asks the library; keeps nothing.
#pragma once

#include <webgpu/webgpu.h>

#include <string>

#include "berth/options.hpp"
#include "runtime/wgpu/wgpu_table.hpp"

namespace berth::runtime::wgpu {

/// What an adapter says of itself.
struct AdapterFacts {
  std::string name;
  std::string vendor;
  std::string driver;
  std::string kind;  ///< "discrete GPU", "CPU", …
  WGPUBackendType backend = WGPUBackendType_Undefined;
};
[[nodiscard]] AdapterFacts adapter_facts(const Table& api, WGPUAdapter adapter);

/// "vulkan", … or empty = the library's choice.
/// Errors: Error(invalid_argument) naming the known ones.
[[nodiscard]] WGPUBackendType backend_named(const std::string& name);
[[nodiscard]] const char* name_of_backend(WGPUBackendType backend);

/// The adapter that the options ask for; the caller releases it.
/// Errors: Error(unavailable) with the library's reason, or with the names of those that are there.
///   A Null backend, which computes nothing, is only taken if it was asked for.
[[nodiscard]] WGPUAdapter choose_adapter_of(const Table& api, WGPUInstance instance,
                                            const WebGpuOptions& options);

}  // namespace berth::runtime::wgpu
