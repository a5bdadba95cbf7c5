// SPDX-License-Identifier: Apache-2.0
//
// Exit codes and the one sentence on standard error, the same for every command: 0 done, 2 for
// usage or unusable input, 1 for any other failure.
// Thread safety: pure but for printing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <stdexcept>

namespace berth::tools {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUnusable = 2;

/// An option or argument that cannot be used.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs a program or a command and says what went wrong in one sentence.
/// Returns: what `command` returns; kUnusable for UsageError, minilm::InputError,
///   Error(invalid_argument) and std::invalid_argument; kFailed for everything else, and when
///   standard output could not be written.
int exit_code_of(const std::function<int()>& command) noexcept;

/// Parses the command line; prints help, version or what is wrong with it.
/// Returns: nothing if all is well, or the exit code to end with.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv);

}  // namespace berth::tools
