// SPDX-License-Identifier: Apache-2.0
//
// Attention of one head without a matrix of scores: each invocation owns one query, keys and values
// pass by in tiles of 32, and the softmax is rescaled whenever a larger score appears. Keys past a
// sentence's length are never looked at; queries past it are computed like the others, since every
// byte of the output is promised.
// Thread safety: see kernels.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "minilm/cpu_lanes.hpp"
#include "minilm/kernel_parts.hpp"
#include "minilm/kernels.hpp"

namespace minilm {
namespace {

constexpr std::uint32_t kQueries = 32;               // of one workgroup, one each invocation
constexpr float kScoreScale = 0.17677669529663688F;  // 1 / √kHeadWidth

// The query and the weighted sum are written out as eight vec4f each: software devices keep
// indexed arrays in memory.
constexpr const char* kAttentionWgsl = R"(
struct Shape { longest: u32 }
@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> lengths: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> shape: Shape;

const kStride = 96u;  // vec4f a row
const kScale = 0.17677669529663688;

var<workgroup> k_tile: array<vec4f, 256>;
var<workgroup> v_tile: array<vec4f, 256>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let sentence = group.z;
  let length = lengths[sentence];
  let first = sentence * shape.longest * kStride + group.y * 8u;
  let query = group.x * 32u + local;
  let at = first + min(query, shape.longest - 1u) * kStride;
  let q0 = q[at] * kScale;
  let q1 = q[at + 1u] * kScale;
  let q2 = q[at + 2u] * kScale;
  let q3 = q[at + 3u] * kScale;
  let q4 = q[at + 4u] * kScale;
  let q5 = q[at + 5u] * kScale;
  let q6 = q[at + 6u] * kScale;
  let q7 = q[at + 7u] * kScale;
  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();
  var largest = -3.0e38;
  var total = 0.0;
  for (var key = 0u; key < length; key += 32u) {
    let here = min(32u, length - key);
    for (var i = local; i < here * 8u; i += 32u) {
      let from_row = first + (key + i / 8u) * kStride + i % 8u;
      k_tile[i] = k[from_row];
      v_tile[i] = v[from_row];
    }
    workgroupBarrier();
    for (var j = 0u; j < here; j++) {
      let t = j * 8u;
      let score = (dot(q0, k_tile[t]) + dot(q1, k_tile[t + 1u])) +
                  (dot(q2, k_tile[t + 2u]) + dot(q3, k_tile[t + 3u])) +
                  (dot(q4, k_tile[t + 4u]) + dot(q5, k_tile[t + 5u])) +
                  (dot(q6, k_tile[t + 6u]) + dot(q7, k_tile[t + 7u]));
      let larger = max(largest, score);
      let shrink = exp(largest - larger);
      let weight = exp(score - larger);
      largest = larger;
      total = total * shrink + weight;
      s0 = s0 * shrink + weight * v_tile[t];
      s1 = s1 * shrink + weight * v_tile[t + 1u];
      s2 = s2 * shrink + weight * v_tile[t + 2u];
      s3 = s3 * shrink + weight * v_tile[t + 3u];
      s4 = s4 * shrink + weight * v_tile[t + 4u];
      s5 = s5 * shrink + weight * v_tile[t + 5u];
      s6 = s6 * shrink + weight * v_tile[t + 6u];
      s7 = s7 * shrink + weight * v_tile[t + 7u];
    }
    workgroupBarrier();
  }
  if (query < shape.longest) {
    let share = 1.0 / total;
    y[at] = s0 * share;
    y[at + 1u] = s1 * share;
    y[at + 2u] = s2 * share;
    y[at + 3u] = s3 * share;
    y[at + 4u] = s4 * share;
    y[at + 5u] = s5 * share;
    y[at + 6u] = s6 * share;
    y[at + 7u] = s7 * share;
  }
}
)";

constexpr std::uint32_t kHeadLanes = kHeadWidth / kLanes;

struct HeadView {
  const float* q;  // of this head and sentence; a row is kHidden floats on
  const float* k;
  const float* v;
  float* y;
};

MINILM_WIDE void attend(const HeadView& head, std::uint32_t first, std::uint32_t end,
                        std::uint32_t length) {
  for (std::uint32_t query = first; query < end; ++query) {
    Lanes q[kHeadLanes];
    Lanes sums[kHeadLanes] = {};
    for (std::size_t i = 0; i < kHeadLanes; ++i) {
      load(q[i], head.q + query * std::size_t{kHidden} + i * kLanes);
      q[i] *= kScoreScale;
    }
    float largest = std::numeric_limits<float>::lowest();
    float total = 0;
    for (std::uint32_t key = 0; key < length; ++key) {
      const float* k = head.k + key * std::size_t{kHidden};
      Lanes products{};
      for (std::size_t i = 0; i < kHeadLanes; ++i) {
        Lanes k_lanes;
        load(k_lanes, k + i * kLanes);
        products += q[i] * k_lanes;
      }
      const float score = sum_of(products);
      if (score > largest) {
        const float shrink = std::exp(largest - score);
        largest = score;
        total *= shrink;
        for (Lanes& sum : sums) sum *= shrink;
      }
      const float weight = std::exp(score - largest);
      total += weight;
      const float* v = head.v + key * std::size_t{kHidden};
      for (std::size_t i = 0; i < kHeadLanes; ++i) {
        Lanes v_lanes;
        load(v_lanes, v + i * kLanes);
        sums[i] += weight * v_lanes;
      }
    }
    const float share = 1 / total;
    for (std::size_t i = 0; i < kHeadLanes; ++i) {
      sums[i] *= share;
      store(head.y + query * std::size_t{kHidden} + i * kLanes, sums[i]);
    }
  }
}

void attention_cpu(const berth::CpuInvocation& call) {
  const std::uint32_t longest = call.uniforms<BatchShape>().longest;
  const auto [tile, head, sentence] = call.group();
  const std::size_t first =
      sentence * std::size_t{longest} * kHidden + head * std::size_t{kHeadWidth};
  const HeadView view{
      call.buffer<const float>(0).data() + first, call.buffer<const float>(1).data() + first,
      call.buffer<const float>(2).data() + first, call.buffer<float>(4).data() + first};
  attend(view, tile * kQueries, std::min((tile + 1) * kQueries, longest),
         call.buffer<const std::uint32_t>(3)[sentence]);
}

}  // namespace

berth::Grid attention_grid(std::uint32_t sentences, std::uint32_t longest) {
  return {.x = (longest + kQueries - 1) / kQueries, .y = kHeads, .z = sentences};
}

berth::Kernel make_attention() {
  return make_kernel("minilm.attention",
                     {rows_of("q"), rows_of("k"), rows_of("v"), numbers("lengths"), result("y")},
                     {"longest"}, kQueries, kAttentionWgsl, attention_cpu);
}

}  // namespace minilm
