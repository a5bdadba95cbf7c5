// SPDX-License-Identifier: Apache-2.0
//
// `berth info`: what this machine and this build have to offer.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace berth::tools {

/// Adds the subcommand `info` to `app`. When the command line names it, parsing sets `chosen` to
/// what it does; call that after parsing: it returns the exit code (exit_code.hpp).
void add_info_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace berth::tools
