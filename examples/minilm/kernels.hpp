// SPDX-License-Identifier: Apache-2.0
//
// The kernels of all-MiniLM-L6-v2, each as WGSL and as a C++ function per workgroup. They know the
// model's widths (384 values a token, heads of 32) and take every length from a uniform. All
// tensors are float32 rows without padding, but ids and lengths, which are uint32. Thread safety:
// pure functions; kernels are immutable.
#pragma once

#include <array>
#include <cstdint>

#include "berth/kernel.hpp"

namespace minilm {

inline constexpr std::uint32_t kHidden = 384;  ///< values a token
inline constexpr std::uint32_t kHeads = 12;
inline constexpr std::uint32_t kHeadWidth = 32;
inline constexpr std::uint32_t kInner =
    1536;  ///< values a token between the two feed-forward layers
inline constexpr float kLayerNormEpsilon = 1e-12F;

/// Uniforms of `matmul` and `matmul_gelu`.
struct MatmulShape {
  std::uint32_t rows;
  std::uint32_t columns;  ///< a multiple of 64
  std::uint32_t depth;    ///< a multiple of 16
};

/// Uniforms of kernels over a batch of sentences, each padded to `longest` tokens.
struct BatchShape {
  std::uint32_t longest;
};

/// How the rows of a matmul are cut into workgroups.
enum class MatmulTile : std::uint8_t {
  tall,  ///< 64 x 64: fewer loads for each product
  flat,  ///< 16 x 64: less waste where there are few rows
};
enum class Activation : std::uint8_t { none, gelu };

/// y = activation(x · wᵀ + b). Bindings: x [rows, depth], w [columns, depth], b [columns],
/// y [rows, columns] (write). Uniforms: MatmulShape.
berth::Kernel make_matmul(MatmulTile tile, Activation activation);
/// The workgroups of a matmul.
berth::Grid matmul_grid(MatmulTile tile, std::uint32_t rows, std::uint32_t columns);
/// The tile that suits a number of rows.
MatmulTile matmul_tile(std::uint32_t rows);

/// Layer norm of word + position + type, a workgroup a token. Bindings: ids [tokens], word
/// [vocabulary, 384], position [≥ longest, 384], type [384], gain [384], shift [384], y [tokens,
/// 384] (write). Uniforms: BatchShape; a token's position is its row modulo `longest`. Ids must be
/// below the vocabulary.
berth::Kernel make_embedding();

/// y = layer norm of (x + residual), a workgroup a row. Bindings: x, residual [rows, 384], gain,
/// shift [384], y [rows, 384] (write). No uniforms.
berth::Kernel make_layer_norm();

/// Softmax attention of each head, keys at and after a sentence's length left out. Bindings: q, k,
/// v [sentences * longest, 384], lengths [sentences], y like q (write). Uniforms: BatchShape.
/// Lengths are at least 1. No score is ever stored: the softmax is summed up while keys pass by.
/// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
berth::Kernel make_attention();
/// The workgroups of attention: 32 queries of one head each.
berth::Grid attention_grid(std::uint32_t sentences, std::uint32_t longest);

/// Mean of a sentence's first `length` rows, divided by its L2 norm; a workgroup a sentence.
/// Bindings: x [sentences * longest, 384], lengths [sentences], y [sentences, 384] (write).
/// Uniforms: BatchShape.
berth::Kernel make_mean_pool();

/// The error function in float32, exact to about 2 ulp; what the CPU kernels and the WGSL compute.
/// Source: the rational function of XLA (xla/client/lib/math.cc, Apache-2.0), itself Eigen's.
float erf_rational(float x);

}  // namespace minilm
