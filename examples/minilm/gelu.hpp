// SPDX-License-Identifier: Apache-2.0
//
// GELU by the error function, as BERT has it: x (1 + erf(x / √2)) / 2, for the CPU kernels and as
// WGSL. WGSL has no erf; both use one rational function of one table, free of branches so that it
// vectorises. Source: XLA, xla/client/lib/math.cc (Apache-2.0), after Eigen's: about 2 ulp in
// float32. Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace minilm {

// erf(x) = x P(x²) / Q(x²) for |x| ≤ 4, where float32 has reached ±1; highest power first.
inline constexpr float kErfClamp = 4.0F;
inline constexpr std::array<float, 7> kErfP = {
    -2.72614225801306e-10F, 2.77068142495902e-08F,  -2.10102402082508e-06F, -5.69250639462346e-05F,
    -7.34990630326855e-04F, -2.95459980854025e-03F, -1.60960333262415e-02F};
inline constexpr std::array<float, 5> kErfQ = {-1.45660718464996e-05F, -2.13374055278905e-04F,
                                               -1.68282697438203e-03F, -7.37332916720468e-03F,
                                               -1.42647390514189e-02F};
inline constexpr float kSqrtHalf = 0.70710678118654752F;

/// erf_rational, to be inlined into vectorised loops.
inline __attribute__((always_inline)) float erf_inline(float x) {
  x = x < -kErfClamp ? -kErfClamp : x;
  x = x > kErfClamp ? kErfClamp : x;
  const float square = x * x;
  float p = kErfP[0];
  float q = kErfQ[0];
  for (std::size_t i = 1; i < kErfP.size(); ++i) p = p * square + kErfP[i];
  for (std::size_t i = 1; i < kErfQ.size(); ++i) q = q * square + kErfQ[i];
  return x * p / q;
}

/// GELU of `count` values, in place.
inline __attribute__((always_inline)) void gelu_row(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 0.5F * values[i] * (1.0F + erf_inline(values[i] * kSqrtHalf));
  }
}

/// WGSL text of `fn gelu(v: vec4f) -> vec4f`.
std::string gelu_wgsl();

}  // namespace minilm
