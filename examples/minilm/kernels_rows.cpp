// SPDX-License-Identifier: Apache-2.0
//
// The kernels that work on whole rows of 384 values: embedding, layer norm, mean pooling. On a
// device a row belongs to 32 invocations with three vec4f each; sums over a row go through
// workgroup memory once, and every invocation adds the 32 parts in the same order.
// Thread safety: see kernels.hpp.
#include <algorithm>
#include <cmath>
#include <string>

#include "minilm/kernel_parts.hpp"
#include "minilm/kernels.hpp"

namespace minilm {
namespace {

constexpr std::uint32_t kThreads = 32;

// Sums are fetched between two barriers, so that the parts may be overwritten by the next sum.
constexpr const char* kRowSumWgsl = R"(
var<workgroup> parts: array<f32, 32>;
fn row_sum(part: f32, local: u32) -> f32 {
  parts[local] = part;
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < 32u; i++) { total += parts[i]; }
  workgroupBarrier();
  return total;
}
fn sum4(v: vec4f) -> f32 { return (v.x + v.y) + (v.z + v.w); }
)";

constexpr const char* kNormaliseWgsl = R"(
struct Row { a: vec4f, b: vec4f, c: vec4f }
fn normalise(row: Row, local: u32) -> Row {
  let mean = row_sum(sum4(row.a + row.b + row.c), local) / 384.0;
  let a = row.a - mean;
  let b = row.b - mean;
  let c = row.c - mean;
  let variance = row_sum(sum4(a * a + b * b + c * c), local) / 384.0;
  let scale = 1.0 / sqrt(variance + 1.0e-12);
  let t = local;
  return Row(a * scale * gain[t] + shift[t], b * scale * gain[t + 32u] + shift[t + 32u],
             c * scale * gain[t + 64u] + shift[t + 64u]);
}
)";

constexpr const char* kEmbeddingWgsl = R"(
struct Shape { longest: u32 }
@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> word: array<vec4f>;
@group(0) @binding(2) var<storage, read> position: array<vec4f>;
@group(0) @binding(3) var<storage, read> token_type: array<vec4f>;
@group(0) @binding(4) var<storage, read> gain: array<vec4f>;
@group(0) @binding(5) var<storage, read> shift: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> shape: Shape;

fn embedded(token: u32, place: u32, i: u32) -> vec4f {
  return word[token * 96u + i] + position[place * 96u + i] + token_type[i];
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let token = ids[group.x];
  let place = group.x % shape.longest;
  let row = Row(embedded(token, place, local), embedded(token, place, local + 32u),
                embedded(token, place, local + 64u));
  let done = normalise(row, local);
  let at = group.x * 96u + local;
  y[at] = done.a;
  y[at + 32u] = done.b;
  y[at + 64u] = done.c;
}
)";

constexpr const char* kLayerNormWgsl = R"(
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> residual: array<vec4f>;
@group(0) @binding(2) var<storage, read> gain: array<vec4f>;
@group(0) @binding(3) var<storage, read> shift: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let at = group.x * 96u + local;
  let row = Row(x[at] + residual[at], x[at + 32u] + residual[at + 32u],
                x[at + 64u] + residual[at + 64u]);
  let done = normalise(row, local);
  y[at] = done.a;
  y[at + 32u] = done.b;
  y[at + 64u] = done.c;
}
)";

constexpr const char* kMeanPoolWgsl = R"(
struct Shape { longest: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> lengths: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> shape: Shape;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let length = lengths[group.x];
  let first = group.x * shape.longest * 96u + local;
  var a = vec4f();
  var b = vec4f();
  var c = vec4f();
  for (var i = 0u; i < length; i++) {
    let at = first + i * 96u;
    a += x[at];
    b += x[at + 32u];
    c += x[at + 64u];
  }
  let share = 1.0 / f32(length);
  a *= share;
  b *= share;
  c *= share;
  let norm = sqrt(row_sum(sum4(a * a + b * b + c * c), local));
  let scale = 1.0 / max(norm, 1.0e-12);
  let at = group.x * 96u + local;
  y[at] = a * scale;
  y[at + 32u] = b * scale;
  y[at + 64u] = c * scale;
}
)";

// Layer norm of one row, in place. Sums in double: what they cost is nothing beside the matmuls.
void normalise(float* row, const float* gain, const float* shift) {
  double sum = 0;
  for (std::uint32_t i = 0; i < kHidden; ++i) sum += row[i];
  const auto mean = static_cast<float>(sum / kHidden);
  double squares = 0;
  for (std::uint32_t i = 0; i < kHidden; ++i) {
    row[i] -= mean;
    squares += static_cast<double>(row[i]) * row[i];
  }
  const auto scale = static_cast<float>(1 / std::sqrt(squares / kHidden + kLayerNormEpsilon));
  for (std::uint32_t i = 0; i < kHidden; ++i) row[i] = row[i] * scale * gain[i] + shift[i];
}

void embedding_cpu(const berth::CpuInvocation& call) {
  const std::size_t token = call.group()[0];
  const std::size_t place = token % call.uniforms<BatchShape>().longest;
  const std::size_t id = call.buffer<const std::uint32_t>(0)[token];
  const float* word = call.buffer<const float>(1).data() + id * kHidden;
  const float* position = call.buffer<const float>(2).data() + place * kHidden;
  const float* type = call.buffer<const float>(3).data();
  float* y = call.buffer<float>(6).data() + token * kHidden;
  for (std::uint32_t i = 0; i < kHidden; ++i) y[i] = word[i] + position[i] + type[i];
  normalise(y, call.buffer<const float>(4).data(), call.buffer<const float>(5).data());
}

void layer_norm_cpu(const berth::CpuInvocation& call) {
  const std::size_t first = std::size_t{call.group()[0]} * kHidden;
  const float* x = call.buffer<const float>(0).data() + first;
  const float* residual = call.buffer<const float>(1).data() + first;
  float* y = call.buffer<float>(4).data() + first;
  for (std::uint32_t i = 0; i < kHidden; ++i) y[i] = x[i] + residual[i];
  normalise(y, call.buffer<const float>(2).data(), call.buffer<const float>(3).data());
}

void mean_pool_cpu(const berth::CpuInvocation& call) {
  const std::size_t sentence = call.group()[0];
  const std::uint32_t length = call.buffer<const std::uint32_t>(1)[sentence];
  const float* x =
      call.buffer<const float>(0).data() + sentence * call.uniforms<BatchShape>().longest * kHidden;
  float* y = call.buffer<float>(2).data() + sentence * kHidden;
  std::fill_n(y, kHidden, 0.0F);
  for (std::uint32_t row = 0; row < length; ++row, x += kHidden) {
    for (std::uint32_t i = 0; i < kHidden; ++i) y[i] += x[i];
  }
  double squares = 0;
  for (std::uint32_t i = 0; i < kHidden; ++i) {
    y[i] /= static_cast<float>(length);
    squares += static_cast<double>(y[i]) * y[i];
  }
  const auto scale = static_cast<float>(1 / std::max(std::sqrt(squares), 1e-12));
  for (std::uint32_t i = 0; i < kHidden; ++i) y[i] *= scale;
}

}  // namespace

berth::Kernel make_embedding() {
  return make_kernel("minilm.embedding",
                     {numbers("ids"), rows_of("word"), rows_of("position"), rows_of("token_type"),
                      rows_of("gain"), rows_of("shift"), result("y")},
                     {"longest"}, kThreads,
                     std::string(kRowSumWgsl) + kNormaliseWgsl + kEmbeddingWgsl, embedding_cpu);
}

berth::Kernel make_layer_norm() {
  return make_kernel(
      "minilm.layer_norm",
      {rows_of("x"), rows_of("residual"), rows_of("gain"), rows_of("shift"), result("y")}, {},
      kThreads, std::string(kRowSumWgsl) + kNormaliseWgsl + kLayerNormWgsl, layer_norm_cpu);
}

berth::Kernel make_mean_pool() {
  return make_kernel("minilm.mean_pool", {rows_of("x"), numbers("lengths"), result("y")},
                     {"longest"}, kThreads, std::string(kRowSumWgsl) + kMeanPoolWgsl,
                     mean_pool_cpu);
}

}  // namespace minilm
