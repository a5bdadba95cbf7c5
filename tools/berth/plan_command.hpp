// SPDX-License-Identifier: Apache-2.0
//
// `berth plan FILE`: plans a window (JSON) or lifetimes (MiniMalloc CSV), has the answer checked,
// and prints and writes it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace berth::tools {

/// Adds the subcommand `plan` to `app`. When the command line names it, parsing sets `chosen` to
/// what it does; call that after parsing: it returns the exit code, and prints its own errors.
/// Exit codes: 0 placed, 1 an output cannot be written or the checker refused the plan, 2 bad
/// input, 3 proven not to fit, 4 no plan found in time.
void add_plan_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace berth::tools
