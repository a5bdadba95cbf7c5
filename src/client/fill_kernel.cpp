// SPDX-License-Identifier: Apache-2.0
#include "client/fill_kernel.hpp"

#include <algorithm>

namespace berth::client {

namespace {

constexpr const char* kWgsl = R"(
struct Uniforms { value: u32, n: u32 }
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> u: Uniforms;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * 64u + local;
  if (i < u.n) { out[i] = u.value; }
}
)";

constexpr const char* kCuda = R"(
struct Uniforms { unsigned value; unsigned n; };
extern "C" __global__ void fill(unsigned* out, const Uniforms* u) {
  const unsigned long long i =
      (blockIdx.y * static_cast<unsigned long long>(gridDim.x) + blockIdx.x) * 64 + threadIdx.x;
  if (i < u->n) out[i] = u->value;
}
)";

void fill_group(const CpuInvocation& invocation) {
  const auto u = invocation.uniforms<FillUniforms>();
  const auto out = invocation.buffer<std::uint32_t>(0);
  const std::uint64_t group =
      std::uint64_t{invocation.group()[1]} * invocation.groups()[0] + invocation.group()[0];
  const std::uint64_t begin = std::min<std::uint64_t>(group * kFillGroup, u.n);
  const std::uint64_t end = std::min<std::uint64_t>(begin + kFillGroup, u.n);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
            out.begin() + static_cast<std::ptrdiff_t>(end), u.value);
}

}  // namespace

const Kernel& fill_kernel() {
  static const Kernel kernel({.name = "berth.fill",
                              .bindings = {{"out", Element::u32, Access::write, 1}},
                              .uniforms = {{"value", Element::u32, 1, Builtin::none, {}},
                                           {"n", Element::u32, 1, Builtin::none, {}}},
                              .workgroup = {kFillGroup, 1, 1},
                              .in_place = {},
                              .requires_features = {}},
                             {{.target = Target::wgsl, .source = kWgsl, .loops_end = true},
                              {.target = Target::cuda, .source = kCuda, .entry = "fill"},
                              {.target = Target::cpu, .source = {}, .function = fill_group}});
  return kernel;
}

}  // namespace berth::client
