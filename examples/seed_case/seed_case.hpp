// SPDX-License-Identifier: Apache-2.0
//
// The case that asked for deferred allocation (CubeCL issue 672): a tensor is written by `zeros`,
// then, in part, by a kernel that reads a, b and c. When `out` is first placed no conflict shows.
#pragma once

#include <vector>

#include "berth/berth.hpp"

namespace seed_case {

inline constexpr std::uint32_t kCount = 64;
enum FlushPoint : unsigned { kAfterEmpty = 1, kAfterZeros = 2, kAfterCustom = 4, kAllPoints = 7 };

inline berth::Kernel zeros() {
  return {{.name = "zeros", .bindings = {{"out", berth::Element::f32, berth::Access::write}}},
          {{.target = berth::Target::wgsl, .source = R"(
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) group: vec3u) { out[group.x] = 0.0; }
)"},
           {.target = berth::Target::cpu, .function = [](const berth::CpuInvocation& call) {
              call.buffer<float>(0)[call.group()[0]] = 0;
            }}}};
}

/// Writes every second element: out[2 i] += a[2 i] * b[2 i] + c[2 i].
inline berth::Kernel custom() {
  using enum berth::Access;
  constexpr auto f32 = berth::Element::f32;
  return {{.name = "custom",
           .bindings =
               {{"a", f32, read}, {"b", f32, read}, {"c", f32, read}, {"out", f32, read_write}}},
          {{.target = berth::Target::wgsl, .source = R"(
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read> c: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) group: vec3u) {
  let i = 2u * group.x;
  out[i] += a[i] * b[i] + c[i];
}
)"},
           {.target = berth::Target::cpu, .function = [](const berth::CpuInvocation& call) {
              const auto in = [&](std::size_t k) { return call.buffer<const float>(k); };
              const std::size_t i = 2 * std::size_t{call.group()[0]};
              call.buffer<float>(3)[i] += in(0)[i] * in(1)[i] + in(2)[i];
            }}}};
}
inline float expected(std::size_t i) { return i % 2 == 0 ? 2.0F * 3.0F + 4.0F : 0.0F; }

/// Runs the case and closes the window at each of the given points. Returns: out.
inline std::vector<float> run(berth::Client& client, unsigned flush_points) {
  const std::vector<float> twos(kCount, 2);
  const std::vector<float> threes(kCount, 3);
  const std::vector<float> fours(kCount, 4);
  const berth::Handle a = client.create(std::span(twos), {.label = "a"});
  const berth::Handle b = client.create(std::span(threes), {.label = "b"});
  const berth::Handle c = client.create(std::span(fours), {.label = "c"});
  client.flush();  // a, b and c are placed now, on one page where the policy shares pages

  const berth::Handle out = client.empty(kCount * sizeof(float), {.label = "out"});
  if ((flush_points & kAfterEmpty) != 0) client.flush();
  client.launch(zeros(), {kCount}, {out});
  if ((flush_points & kAfterZeros) != 0) client.flush();
  client.launch(custom(), {kCount / 2}, {a, b, c, out});
  if ((flush_points & kAfterCustom) != 0) client.flush();
  return client.read<float>(out).get();
}

}  // namespace seed_case
