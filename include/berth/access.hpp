// SPDX-License-Identifier: Apache-2.0
//
// How a task uses a tensor. Pure values; safe from any thread.
#pragma once

#include <cstdint>

namespace berth {

/// How a task uses a range of a tensor.
enum class Access : std::uint8_t {
  read,        ///< the bytes are only read
  write,       ///< a promise: every byte of the range is overwritten, the old ones are not needed
  read_write,  ///< read and written; sparse and partial writes too
};

[[nodiscard]] constexpr bool writes(Access access) { return access != Access::read; }
[[nodiscard]] constexpr bool reads(Access access) { return access != Access::write; }
[[nodiscard]] constexpr const char* name_of(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::write:
      return "write";
    case Access::read_write:
      return "read_write";
  }
  return "?";
}

}  // namespace berth
