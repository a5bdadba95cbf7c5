// SPDX-License-Identifier: Apache-2.0
//
// Kernels for tests that compare bytes: integer arithmetic that wraps, each as WGSL and as a CPU
// function, plain and (where WGSL allows it) promoted. All take their length from a uniform and run
// in groups of 64: launch with cover(n, kGroup). Constant; whoever uses them links berth.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "berth/kernel.hpp"

namespace berth::test {

inline constexpr std::uint32_t kGroup = 64;

struct Count {
  std::uint32_t n = 0;
};
struct Counts {
  std::uint32_t n = 0;
  std::uint32_t m = 0;
};
struct Scale {
  std::uint32_t factor = 1;
  std::uint32_t offset = 0;
  std::uint32_t n = 0;
};
struct Products {
  std::uint32_t n = 0;      ///< elements of out
  std::uint32_t terms = 0;  ///< elements of x
};
struct Vectors {
  std::uint32_t offset = 0;
  std::array<std::uint32_t, 3> three{};
  std::array<std::int32_t, 2> two{};
  std::array<std::uint32_t, 4> four{};
  std::uint32_t n = 0;
};

/// out[i] = x[i]. Bindings: x (read), out (write).
[[nodiscard]] const Kernel& copy_kernel();
/// out[i] = a[i] + b[i]. Bindings: a, b (read), out (write).
[[nodiscard]] const Kernel& add_kernel();
/// out[i] = x[i] * factor + offset. Bindings: x (read), out (write). Uniforms: Scale.
[[nodiscard]] const Kernel& scale_kernel();
/// first[i] = x[i] + 1 for i < n, second[i] = x[i] * 3 for i < m. Bindings: x (read), first, second
/// (write). Uniforms: Counts.
[[nodiscard]] const Kernel& split_kernel();
/// sum[i] += x[i]. Bindings: x (read), sum (read_write).
[[nodiscard]] const Kernel& accumulate_kernel();
/// x[i] = x[i] * factor + offset. Bindings: x (read_write). Uniforms: Scale.
[[nodiscard]] const Kernel& bump_kernel();
/// out[i] = 0. Bindings: out (write).
[[nodiscard]] const Kernel& zeros_kernel();
/// Where a[i] is odd, out[i] = b[i] + c[i]: a sparse write. Bindings: a, b, c (read), out
/// (read_write).
[[nodiscard]] const Kernel& sparse_kernel();
/// out[0] = the sum of x, by one group. Bindings: x (read), out (write). Grid: {1}.
[[nodiscard]] const Kernel& reduce_kernel();
/// out[i] = i * the sum of x: all of out is written also if x is empty. Bindings: x (read), out
/// (write). Uniforms: Products.
[[nodiscard]] const Kernel& products_kernel();
/// If flag[0] is not 0, x reversed within each group of 64, which takes a barrier under that
/// branch; else x. Has no promoted form. Bindings: flag, x (read), out (write). n must be a
/// multiple of 64.
[[nodiscard]] const Kernel& branch_kernel();
/// out[i] = x[i] mixed with every component of its uniforms. Bindings: x (read), out (write).
/// Uniforms: Vectors.
[[nodiscard]] const Kernel& vectors_kernel();
[[nodiscard]] std::uint32_t mixed(std::uint32_t x, const Vectors& u);

/// All of them.
[[nodiscard]] std::span<const Kernel> integer_kernels();

}  // namespace berth::test
