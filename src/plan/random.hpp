// SPDX-License-Identifier: Apache-2.0
//
// A small generator with the same numbers on every platform (std distributions differ).
// Source: splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// 2014.
#pragma once

#include <bit>
#include <cstdint>

namespace berth::plan::detail {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// Below `count`, which must not be 0.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32U) * count) >> 32U);
  }
  /// Exponentially distributed with mean `mean`, to within a few percent; integers only.
  std::uint64_t exponential(std::uint64_t mean) {
    const std::uint64_t bits = next() | 1U;
    const auto zeros = static_cast<std::uint64_t>(std::countl_zero(bits));
    const std::uint64_t fraction = ((bits << zeros) << 1U) >> 48U;  // below the leading one
    // -ln(u) in units of 1 / 65536: u lies in [2^-(zeros+1), 2^-zeros).
    const std::uint64_t log2 = ((zeros + 1) << 16U) - fraction;
    const std::uint64_t variate = (log2 * 45426) >> 16U;
    return (mean >> 16U) * variate + (((mean & 0xFFFFU) * variate) >> 16U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace berth::plan::detail
