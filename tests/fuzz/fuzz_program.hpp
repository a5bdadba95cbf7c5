// SPDX-License-Identifier: Apache-2.0
//
// A random program as plain data: operations on numbered tensors of 32-bit words. It means the same
// to the serial oracle, to a runtime and to the printer. An operation that is not valid where it
// stands (a tensor that is gone, a read of words nobody wrote) does nothing, so any part of a
// program is a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::fuzz {

inline constexpr std::uint32_t kTensors = 12;  ///< names 0 … 11
inline constexpr std::uint32_t kStreams = 3;   ///< 0 is the default stream

enum class Verb : std::uint8_t {
  empty,       ///< a: tensor of `words` without contents
  zeros,       ///< a: tensor of `words` zeros
  create,      ///< a: tensor of `words` made from `value`
  upload,      ///< a: words made from `value`
  fill,        ///< a: `value`
  copy,        ///< a -> b
  add,         ///< c = a + b + value           (a, b read, c write; c may take over a or b)
  increment,   ///< b = a + value               (a read, b write; in place)
  fork,        ///< b = a + value, c = a ^ value (a read; b, c write)
  scatter,     ///< a[every third] += value     (a read_write)
  accumulate,  ///< b += a                      (a read, b read_write)
  gated,       ///< increment, with workgroup counts read from tensor c
  counts,      ///< a (3 words) = counts that cover `words` words, or 0 if value is even
  read,        ///< a is read back and compared
  drop,        ///< the handle of a is dropped
  alias,       ///< the handle of a is copied to the name b: two names hold one tensor
  flush,
  step,
  sync,
};

/// Words [first, first + words) of a tensor.
struct Part {
  std::uint32_t tensor = 0;
  std::uint32_t first = 0;
  std::uint32_t words = 0;
};

struct Operation {
  Verb verb = Verb::flush;
  std::uint32_t stream = 0;
  Part a{};
  Part b{};
  Part c{};
  std::uint32_t value = 0;
  bool move_a = false;  ///< the handle of a is handed over by the launch
};

using Program = std::vector<Operation>;

/// Limits the sizes are drawn around.
struct Sizes {
  std::uint32_t alignment_words = 64;
  std::uint32_t binding_words = 8192;
  std::uint32_t page_words = 16384;
};

/// A program of some 5 to 60 operations. The same seed gives the same program everywhere.
[[nodiscard]] Program generate(std::uint64_t seed, const Sizes& sizes);

/// The program as C++ on the public API.
[[nodiscard]] std::string to_cpp(const Program& program);

/// The words that create and upload make from a value.
[[nodiscard]] std::vector<std::uint32_t> made_words(std::uint32_t value, std::uint32_t words);

}  // namespace berth::fuzz
