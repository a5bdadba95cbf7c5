// SPDX-License-Identifier: Apache-2.0
//
// The two failures of the MiniLM example: input that cannot be used, and output that cannot be
// written. Each message is one full sentence with the value and the limit.
// Thread safety: exceptions, copied as such.
#pragma once

#include <stdexcept>

namespace minilm {

/// The caller's file, text or argument cannot be used; a program ends with exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A result could not be written; a program ends with exit code 1.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace minilm
