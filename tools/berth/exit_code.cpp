// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

#include <cstdio>
#include <new>

#include "berth/error.hpp"
#include "minilm/input_error.hpp"

namespace berth::tools {
namespace {

int failed(int code, const char* what) {
  std::fprintf(stderr, "berth: %s\n", what);
  return code;
}

}  // namespace

int exit_code_of(const std::function<int()>& command) noexcept {
  try {
    const int code = command();
    // A full disk behind standard output shows up here at the latest.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return failed(kFailed, "Standard output could not be written to its end.");
    }
    return code;
  } catch (const UsageError& error) {
    return failed(kUnusable, error.what());
  } catch (const minilm::InputError& error) {
    return failed(kUnusable, error.what());
  } catch (const Error& error) {
    return failed(error.code() == ErrorCode::invalid_argument ? kUnusable : kFailed, error.what());
  } catch (const std::invalid_argument& error) {
    return failed(kUnusable, error.what());
  } catch (const std::bad_alloc&) {
    return failed(kFailed, "This machine has too little memory.");
  } catch (const std::exception& error) {
    return failed(kFailed, error.what());
  } catch (...) {
    return failed(kFailed, "Something failed that names no reason.");
  }
}

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUnusable;
  }
}

}  // namespace berth::tools
