// SPDX-License-Identifier: Apache-2.0
//
// The runtimes of this build, by name, best first. registry.cpp is the only file that names them.
// Constant data; safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/backend.hpp"

namespace berth::runtime {

struct RegisteredRuntime {
  std::string_view name;
  Factory make = nullptr;
  /// Chosen by itself when no runtime is named.
  bool automatic = false;
  /// Why it is not in this build; empty if it is.
  std::string_view left_out;
};

/// Best first.
[[nodiscard]] std::span<const RegisteredRuntime> registered_runtimes();

/// Makes the runtime options.runtime names, or the best one that works here.
/// Errors: Error(invalid_argument) for an unknown name, listing the known ones; Error(unavailable)
///   saying why for each one tried.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const ConnectOptions& options);

}  // namespace berth::runtime
