// SPDX-License-Identifier: Apache-2.0
#include "runtime_options.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "berth/error.hpp"
#include "berth_build_paths.hpp"
#include "exit_code.hpp"

namespace berth::tools {
namespace {

constexpr const char* kLibraryVariable = "BERTH_WEBGPU_LIBRARY";  // the library reads it itself

}  // namespace

void RuntimeOptions::add_to(CLI::App& command) {
  static const std::map<std::string, Policy> kPolicies = {
      {name_of(Policy::window), Policy::window},
      {name_of(Policy::per_task), Policy::per_task},
      {name_of(Policy::exclusive), Policy::exclusive},
      {name_of(Policy::read_write), Policy::read_write}};
  command.add_option("--runtime", runtime, "Where kernels run (the best one here)")
      ->option_text("wgpu|reference|reference-strict");
  command
      .add_option_function<std::string>(
          "--policy", [this](const std::string& name) { policy = kPolicies.at(name); },
          "How tensors are given memory (window)")
      ->check(CLI::IsMember(kPolicies))
      ->option_text("window|per_task|exclusive|read_write");
  command.add_option("--webgpu", webgpu, "WebGPU library of the runtime wgpu (wgpu-native)")
      ->option_text("LIBRARY");
}

ConnectOptions RuntimeOptions::connect_options() const {
  ConnectOptions options;
  options.runtime = runtime;
  options.policy = policy;
  if (!webgpu.empty()) {
    if (runtime.empty()) options.runtime = "wgpu";
    if (options.runtime != "wgpu") {
      throw UsageError("--webgpu names a library for the runtime wgpu, and --runtime is '" +
                       runtime + "'.");
    }
    options.webgpu.library = webgpu;
  } else if (std::getenv(kLibraryVariable) == nullptr &&
             std::filesystem::exists(build_paths::kWgpuNative)) {
    options.webgpu.library = build_paths::kWgpuNative;
  }
  return options;
}

Client RuntimeOptions::connect() const {
  const ConnectOptions options = connect_options();
  try {
    return berth::connect(options);
  } catch (const Error& error) {
    const bool is_named = !webgpu.empty() && error.code() == ErrorCode::unavailable;
    if (is_named || error.code() == ErrorCode::invalid_argument) throw UsageError(error.what());
    throw;
  }
}

}  // namespace berth::tools
