// SPDX-License-Identifier: Apache-2.0
//
// The program berth. Each command lives in a file of its own.
#include <CLI/CLI.hpp>
#include <functional>

#include "plan_command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"berth"};
  app.require_subcommand(1);
  std::function<int()> chosen;
  berth::tools::add_plan_command(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    constexpr int kUsage = 2;
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return chosen();
}
