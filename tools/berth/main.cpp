// SPDX-License-Identifier: Apache-2.0
//
// The program berth. Each command lives in a file of its own.
#include <CLI/CLI.hpp>
#include <functional>

#include "embed_command.hpp"
#include "exit_code.hpp"
#include "info_command.hpp"
#include "plan_command.hpp"

namespace {

int run(int argc, const char* const* argv) {
  CLI::App app{"berth: a tensor gets memory when the work that uses it is submitted", "berth"};
  app.set_version_flag("--version", "berth " BERTH_VERSION);
  app.require_subcommand(1);
  std::function<int()> chosen;
  berth::tools::add_embed_command(app, chosen);
  berth::tools::add_info_command(app, chosen);
  berth::tools::add_plan_command(app, chosen);
  if (const auto code = berth::tools::parse(app, argc, argv)) return *code;
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  return berth::tools::exit_code_of([&] { return run(argc, argv); });
}
