// SPDX-License-Identifier: Apache-2.0
//
// Eight floats at once for the CPU kernels, with the vector extension that GCC and Clang share. The
// build stays portable: a function marked MINILM_WIDE is compiled for plain x86-64 and for AVX2
// with FMA, and the loader picks one. Sanitizer builds take the plain one alone, since the picking
// runs before a sanitizer is ready. Lanes are never passed or returned by value, which would make
// the calling convention depend on the processor.
#pragma once

#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MINILM_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINILM_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__ELF__) && !defined(MINILM_SANITIZED)
#define MINILM_WIDE __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define MINILM_WIDE
#endif

namespace minilm {

using Lanes = float __attribute__((vector_size(32)));
inline constexpr unsigned kLanes = 8;

/// Reads eight floats from any address.
inline __attribute__((always_inline)) void load(Lanes& to, const float* from) {
  std::memcpy(&to, from, sizeof(Lanes));
}
inline __attribute__((always_inline)) void store(float* to, const Lanes& from) {
  std::memcpy(to, &from, sizeof(Lanes));
}
/// The sum of the lanes, pairwise.
inline __attribute__((always_inline)) float sum_of(const Lanes& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

}  // namespace minilm
