// SPDX-License-Identifier: Apache-2.0
#include "fuzz_kernels.hpp"

#include <string>
#include <utility>
#include <vector>

namespace berth::fuzz {

namespace {

constexpr std::uint32_t kGroup = 64;

/// A kernel's text in pieces: everything but the body follows from the signature.
struct Sketch {
  std::string name;
  std::vector<BindingSignature> bindings;
  std::vector<InPlaceSignature> in_place;
  std::string wgsl_body;  ///< on index i, arrays named as the bindings, u.value
  std::string cuda_body;
  CpuFunction cpu = nullptr;
  /// Variants by the pair they compute in place, and the CPU function for it.
  std::vector<CpuFunction> cpu_in_place;
  bool first_element = false;  ///< of binding 0
};

std::string wgsl(const Sketch& k, bool promoted, std::string_view left_out,
                 std::string_view stands_for) {
  std::string text = "struct U { value: u32, n: u32";
  if (k.first_element) text += ", first: u32";
  text += " }\n";
  for (std::size_t i = 0; i < k.bindings.size(); ++i) {
    const BindingSignature& b = k.bindings[i];
    if (b.name == left_out) continue;
    text += "@group(0) @binding(" + std::to_string(i) + ") var<storage, " +
            (promoted || writes(b.access) ? "read_write" : "read") + "> " + b.name +
            ": array<u32>;\n";
  }
  text +=
      "@group(1) @binding(0) var<uniform> u: U;\n"
      "@compute @workgroup_size(64)\n"
      "fn main(@builtin(workgroup_id) g: vec3u, @builtin(num_workgroups) gs: vec3u,\n"
      "        @builtin(local_invocation_index) l: u32) {\n"
      "  let i = ((g.z * gs.y + g.y) * gs.x + g.x) * 64u + l;\n"
      "  if (i < u.n) {\n";
  std::string body = k.wgsl_body;
  for (std::size_t at = 0; !left_out.empty() && at != std::string::npos;) {
    at = body.find(std::string(left_out) + "[");
    if (at != std::string::npos) body.replace(at, left_out.size(), stands_for);
  }
  return text + body + "\n  }\n}\n";
}

std::string cuda(const Sketch& k, std::string_view left_out, std::string_view stands_for) {
  std::string text = "struct U { unsigned value; unsigned n; unsigned first; };\n";
  text += "extern \"C\" __global__ void entry(";
  for (const BindingSignature& b : k.bindings) {
    if (b.name != left_out) {
      text += std::string(writes(b.access) ? "" : "const ") + "unsigned* " + b.name + ", ";
    }
  }
  text +=
      "const U* up) {\n  const U u = *up;\n"
      "  const unsigned i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 64 "
      "+ threadIdx.x;\n  if (i < u.n) {\n";
  std::string body = k.cuda_body;
  for (std::size_t at = 0; !left_out.empty() && at != std::string::npos;) {
    at = body.find(std::string(left_out) + "[");
    if (at != std::string::npos) body.replace(at, left_out.size(), stands_for);
  }
  return text + body + "\n  }\n}\n";
}

Kernel make(const Sketch& k) {
  KernelSignature signature;
  signature.name = "fuzz." + k.name;
  signature.bindings = k.bindings;
  signature.uniforms = {{"value", Element::u32, 1, Builtin::none, {}},
                        {"n", Element::u32, 1, Builtin::none, {}}};
  if (k.first_element) {
    signature.uniforms.push_back(
        {"first", Element::u32, 1, Builtin::first_element, k.bindings.front().name});
  }
  signature.workgroup = {kGroup, 1, 1};
  signature.in_place = k.in_place;
  std::vector<KernelCode> codes;
  const auto add = [&](Target target, Variant variant, std::uint32_t pairs, std::string source,
                       CpuFunction function) {
    KernelCode code;
    code.target = target;
    code.variant = variant;
    code.in_place_pairs = pairs;
    code.source = std::move(source);
    code.function = function;
    code.loops_end = true;
    if (target == Target::cuda) code.entry = "entry";
    codes.push_back(std::move(code));
  };
  add(Target::wgsl, Variant::plain, 0, wgsl(k, false, {}, {}), nullptr);
  add(Target::wgsl, Variant::promoted, 0, wgsl(k, true, {}, {}), nullptr);
  add(Target::cuda, Variant::plain, 0, cuda(k, {}, {}), nullptr);
  add(Target::cpu, Variant::plain, 0, {}, k.cpu);
  add(Target::cpu, Variant::promoted, 0, {}, k.cpu);
  for (std::size_t p = 0; p < k.in_place.size(); ++p) {
    const InPlaceSignature& pair = k.in_place[p];
    add(Target::wgsl, Variant::in_place, 1U << p, wgsl(k, false, pair.input, pair.output), nullptr);
    add(Target::cuda, Variant::in_place, 1U << p, cuda(k, pair.input, pair.output), nullptr);
    add(Target::cpu, Variant::in_place, 1U << p, {}, k.cpu_in_place[p]);
  }
  return {std::move(signature), std::move(codes)};
}

/// Calls f(i) for the elements of one workgroup.
template <class F>
void each(const CpuInvocation& invocation, F f) {
  const auto u = invocation.uniforms<FuzzUniforms>();
  const auto group = invocation.group();
  const auto groups = invocation.groups();
  const std::uint64_t first =
      ((std::uint64_t{group[2]} * groups[1] + group[1]) * groups[0] + group[0]) * kGroup;
  for (std::uint64_t i = first; i < first + kGroup && i < u.n; ++i) f(i, u.value);
}

using In = const std::uint32_t;
using Out = std::uint32_t;

void add_cpu(const CpuInvocation& v) {
  const auto a = v.buffer<In>(0);
  const auto b = v.buffer<In>(1);
  const auto out = v.buffer<Out>(2);
  each(v, [&](std::uint64_t i, std::uint32_t value) { out[i] = a[i] + b[i] + value; });
}
// In place: the pair's input is left out; the rest keeps its order.
void add_in_place_cpu(const CpuInvocation& v) {
  const auto other = v.buffer<In>(0);
  const auto out = v.buffer<Out>(1);
  each(v, [&](std::uint64_t i, std::uint32_t value) { out[i] = out[i] + other[i] + value; });
}
void increment_cpu(const CpuInvocation& v) {
  const auto a = v.buffer<In>(0);
  const auto out = v.buffer<Out>(1);
  each(v, [&](std::uint64_t i, std::uint32_t value) { out[i] = a[i] + value; });
}
void increment_in_place_cpu(const CpuInvocation& v) {
  const auto out = v.buffer<Out>(0);
  each(v, [&](std::uint64_t i, std::uint32_t value) { out[i] = out[i] + value; });
}
void fork_cpu(const CpuInvocation& v) {
  const auto a = v.buffer<In>(0);
  const auto plus = v.buffer<Out>(1);
  const auto other = v.buffer<Out>(2);
  each(v, [&](std::uint64_t i, std::uint32_t value) {
    plus[i] = a[i] + value;
    other[i] = a[i] ^ value;
  });
}
struct ScatterUniforms {
  std::uint32_t value;
  std::uint32_t n;
  std::uint32_t first;
};
void scatter_cpu(const CpuInvocation& v) {
  const auto x = v.buffer<Out>(0);
  const auto first = v.uniforms<ScatterUniforms>().first;
  each(v, [&](std::uint64_t i, std::uint32_t value) {
    if (i % 3 == 0) x[first + i] += value;
  });
}
void accumulate_cpu(const CpuInvocation& v) {
  const auto a = v.buffer<In>(0);
  const auto x = v.buffer<Out>(1);
  each(v, [&](std::uint64_t i, std::uint32_t) { x[i] += a[i]; });
}
void gated_cpu(const CpuInvocation& v) {
  const auto x = v.buffer<Out>(0);
  each(v, [&](std::uint64_t i, std::uint32_t value) { x[i] += value; });
}

BindingSignature read(const char* name) { return {name, Element::u32, Access::read, 1}; }
BindingSignature write(const char* name) { return {name, Element::u32, Access::write, 1}; }
BindingSignature update(const char* name) { return {name, Element::u32, Access::read_write, 1}; }

Sketch sketch(std::string name, std::vector<BindingSignature> bindings, std::string body,
              CpuFunction cpu) {
  Sketch k;
  k.name = std::move(name);
  k.bindings = std::move(bindings);
  k.wgsl_body = body;
  k.cuda_body = std::move(body);
  k.cpu = cpu;
  return k;
}

}  // namespace

const Kernel& add_kernel() {
  static const Kernel kernel = [] {
    Sketch k = sketch("add", {read("a"), read("b"), write("dst")},
                      "dst[i] = a[i] + b[i] + u.value;", add_cpu);
    k.in_place = {{"a", "dst"}, {"b", "dst"}};
    k.cpu_in_place = {add_in_place_cpu, add_in_place_cpu};
    return make(k);
  }();
  return kernel;
}

const Kernel& increment_kernel() {
  static const Kernel kernel = [] {
    Sketch k =
        sketch("increment", {read("a"), write("dst")}, "dst[i] = a[i] + u.value;", increment_cpu);
    k.in_place = {{"a", "dst"}};
    k.cpu_in_place = {increment_in_place_cpu};
    return make(k);
  }();
  return kernel;
}

const Kernel& fork_kernel() {
  static const Kernel kernel =
      make(sketch("fork", {read("a"), write("plus"), write("other")},
                  "plus[i] = a[i] + u.value; other[i] = a[i] ^ u.value;", fork_cpu));
  return kernel;
}

const Kernel& scatter_kernel() {
  static const Kernel kernel = [] {
    Sketch k =
        sketch("scatter", {update("x")},
               "if (i % 3 == 0) { x[u.first + i] = x[u.first + i] + u.value; }", scatter_cpu);
    k.first_element = true;
    return make(k);
  }();
  return kernel;
}

const Kernel& accumulate_kernel() {
  static const Kernel kernel =
      make(sketch("accumulate", {read("a"), update("x")}, "x[i] = x[i] + a[i];", accumulate_cpu));
  return kernel;
}

const Kernel& gated_kernel() {
  static const Kernel kernel =
      make(sketch("gated", {update("x")}, "x[i] = x[i] + u.value;", gated_cpu));
  return kernel;
}

}  // namespace berth::fuzz
