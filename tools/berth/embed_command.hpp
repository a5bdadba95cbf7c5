// SPDX-License-Identifier: Apache-2.0
//
// `berth embed`: sentences in, all-MiniLM-L6-v2 embeddings out.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace berth::tools {

/// Adds the subcommand `embed` to `app`. When the command line names it, parsing sets `chosen` to
/// what it does; call that after parsing: it returns the exit code (exit_code.hpp), and prints its
/// own errors.
void add_embed_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace berth::tools
