// SPDX-License-Identifier: Apache-2.0
//
// Connects to every runtime, and to each WebGPU library that `make setup` brings, and prints what
// they say of themselves or why they are not available.
#include "info_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "berth/client.hpp"
#include "berth/error.hpp"
#include "berth_build_paths.hpp"
#include "exit_code.hpp"
#include "runtime/registry.hpp"

namespace berth::tools {
namespace {

void print_runtime(const ConnectOptions& options) {
  fmt::print("{}\n", options.runtime);
  if (!options.webgpu.library.empty()) fmt::print("  asked for: {}\n", options.webgpu.library);
  try {
    const Client client = connect(options);
    fmt::print("  available: {}\n", client.report().adapter);
    for (const auto& [name, value] : client.device_facts()) fmt::print("  {}: {}\n", name, value);
  } catch (const Error& error) {
    fmt::print("  not available: {}\n", error.what());
  }
  fmt::print("\n");
}

int print_info(const std::string& webgpu) {
  fmt::print("berth {}\n\n", BERTH_VERSION);
  for (const runtime::RegisteredRuntime& runtime : runtime::registered_runtimes()) {
    ConnectOptions options;
    options.runtime = runtime.name;
    if (runtime.name != "wgpu") {
      print_runtime(options);
      continue;
    }
    if (!webgpu.empty()) {
      options.webgpu.library = webgpu;
      print_runtime(options);
      continue;
    }
    for (const std::string_view library : {build_paths::kWgpuNative, build_paths::kDawn}) {
      options.webgpu.library = library;
      print_runtime(options);
    }
  }
  return kDone;
}

}  // namespace

void add_info_command(CLI::App& app, std::function<int()>& chosen) {
  auto webgpu = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("info", "Runtimes, adapters, limits, libraries; why one is not available");
  command->add_option("--webgpu", *webgpu, "Look at this WebGPU library alone")
      ->option_text("LIBRARY");
  command->callback([webgpu, &chosen] {
    chosen = [webgpu] { return exit_code_of([&] { return print_info(*webgpu); }); };
  });
}

}  // namespace berth::tools
