// SPDX-License-Identifier: Apache-2.0
//
// The options --runtime, --policy and --webgpu, which mean the same in every program of the tree:
// tools, examples and benches take them from here.
// Thread safety: one object, one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "berth/client.hpp"
#include "berth/options.hpp"

namespace berth::tools {

/// What the command line says of the runtime.
struct RuntimeOptions {
  std::string runtime;  ///< empty = the best one here; wgpu if a library is named
  Policy policy = Policy::window;
  std::string
      webgpu;  ///< library; empty = $BERTH_WEBGPU_LIBRARY, else wgpu-native from `make setup`

  /// Adds the three options to a command.
  void add_to(CLI::App& command);

  /// The same for connect(). Errors: UsageError when a library is named for another runtime.
  [[nodiscard]] ConnectOptions connect_options() const;

  /// Connects.
  /// Errors: UsageError for an unknown runtime, or when the library that was named cannot be used;
  ///   what connect() throws.
  [[nodiscard]] Client connect() const;
};

}  // namespace berth::tools
