// SPDX-License-Identifier: Apache-2.0
//
// Error scopes around a few calls: pushed and popped in balance, so a host's own scopes on the same
// device see nothing of ours. While they are open, the device's scope mutex is held.
#pragma once

#include <webgpu/webgpu.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/wgpu/wgpu_device.hpp"

namespace berth::runtime::wgpu {

struct ScopeError {
  WGPUErrorType type = WGPUErrorType_Unknown;
  std::string message;  ///< the library's text
};

class ErrorScopes {
 public:
  explicit ErrorScopes(Device& device);
  ErrorScopes(const ErrorScopes&) = delete;
  ErrorScopes& operator=(const ErrorScopes&) = delete;
  /// Pops without a look if close() was not called.
  ~ErrorScopes();

  /// Pops; nothing may be asked of this object afterwards.
  /// Returns: the first error, if there was one. A loss is noted in the device's events too.
  [[nodiscard]] std::optional<ScopeError> close();

 private:
  [[nodiscard]] std::optional<ScopeError> pop();

  Device& device_;
  std::unique_lock<std::recursive_mutex> lock_;
  std::size_t open_ = 0;
};

}  // namespace berth::runtime::wgpu
