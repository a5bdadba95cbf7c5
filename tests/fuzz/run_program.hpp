// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on a client and on the oracle side by side and compares every read, and at the end
// every tensor that is still held.
#pragma once

#include <optional>
#include <string>

#include "berth/client.hpp"
#include "fuzz_program.hpp"

namespace berth::fuzz {

/// Returns: what went wrong, or nothing. The client is left without recorded tasks.
[[nodiscard]] std::optional<std::string> run_program(Client& client, const Program& program,
                                                     const Sizes& sizes);

/// The smallest program found, by leaving out operations, for which `fails` still holds.
template <class Fails>
[[nodiscard]] Program shrink(Program program, Fails fails) {
  for (std::size_t chunk = program.size() / 2; chunk > 0;) {
    bool smaller = false;
    for (std::size_t at = 0; at + chunk <= program.size();) {
      Program rest = program;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at),
                 rest.begin() + static_cast<std::ptrdiff_t>(at + chunk));
      if (fails(rest)) {
        program = std::move(rest);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (!smaller) chunk /= 2;
  }
  return program;
}

}  // namespace berth::fuzz
