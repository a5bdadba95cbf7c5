// SPDX-License-Identifier: Apache-2.0
//
// Runs a program as a shell would, without a shell: its exit code and what it printed.
// Thread safety: one object, one thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace berth::test {

struct Outcome {
  int code = -1;  ///< exit code; 128 + signal if it was ended
  std::string out;
  std::string err;
};

/// Runs `arguments`, the program's path first, and waits for it. `input` is its standard input;
/// `environment` ("NAME=value") is added to this process's own.
Outcome run_program(const std::vector<std::string>& arguments, const std::string& input = {},
                    const std::vector<std::string>& environment = {});

}  // namespace berth::test
