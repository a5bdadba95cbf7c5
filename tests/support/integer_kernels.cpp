// SPDX-License-Identifier: Apache-2.0
#include "support/integer_kernels.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/cuda_text.hpp"

namespace berth::test {

namespace {

using Words = std::span<std::uint32_t>;
using ConstWords = std::span<const std::uint32_t>;

constexpr std::string_view kMain = R"(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * 64u + local;
)";

std::vector<BindingSignature> bindings(std::initializer_list<const char*> reads,
                                       std::initializer_list<const char*> written, Access access) {
  std::vector<BindingSignature> all;
  for (const char* name : reads) all.push_back({name, Element::u32, Access::read, 1});
  for (const char* name : written) all.push_back({name, Element::u32, access, 1});
  return all;
}

std::string declarations(const KernelSignature& signature, Variant variant) {
  std::string out;
  for (std::size_t i = 0; i < signature.bindings.size(); ++i) {
    const BindingSignature& b = signature.bindings[i];
    out += "@group(0) @binding(" + std::to_string(i) + ") var<storage, " +
           (writes(b.access) || variant == Variant::promoted ? "read_write" : "read") + "> " +
           b.name + ": array<u32>;\n";
  }
  out += "struct Uniforms {";
  for (const UniformField& field : signature.uniforms) {
    const std::string element = name_of(field.element);
    out +=
        " " + field.name + ": " +
        (field.components == 1 ? element
                               : "vec" + std::to_string(field.components) + "<" + element + ">") +
        ",";
  }
  return out + " }\n@group(1) @binding(0) var<uniform> u: Uniforms;\n";
}

UniformField word(const char* name) { return {name, Element::u32, 1, Builtin::none, {}}; }
std::vector<UniformField> count_fields() { return {word("n")}; }
std::vector<UniformField> scale_fields() { return {word("factor"), word("offset"), word("n")}; }

/// Where every binding may be read_write: a barrier under a branch on a buffer value may not.
enum class Forms : std::uint8_t { plain, plain_and_promoted };

/// `module` stands before main, `body` in it, after `i`.
Kernel make(const char* name, std::vector<BindingSignature> bound, std::vector<UniformField> fields,
            CpuFunction function, std::string_view body, std::string_view module = "",
            Forms forms = Forms::plain_and_promoted) {
  KernelSignature signature;
  signature.name = name;
  signature.bindings = std::move(bound);
  signature.uniforms = std::move(fields);
  signature.workgroup = {kGroup, 1, 1};
  std::vector<KernelCode> codes;
  for (const Variant variant : {Variant::plain, Variant::promoted}) {
    if (variant == Variant::promoted && forms == Forms::plain) continue;
    KernelCode& wgsl = codes.emplace_back();
    wgsl.target = Target::wgsl;
    wgsl.variant = variant;
    wgsl.source = declarations(signature, variant);
    wgsl.source.append(module).append(kMain).append(body).append("\n}\n");
    wgsl.loops_end = true;
    KernelCode& cpu = codes.emplace_back();
    cpu.target = Target::cpu;
    cpu.variant = variant;
    cpu.function = function;
  }
  codes.push_back(cuda_code(signature, body, module));
  return Kernel(std::move(signature), std::move(codes));
}

std::uint64_t first_of(const CpuInvocation& run) {
  return (std::uint64_t{run.group()[1]} * run.groups()[0] + run.group()[0]) * kGroup;
}

template <class Body>
void each(const CpuInvocation& run, std::uint32_t n, Body body) {
  const std::uint64_t first = first_of(run);
  const std::uint64_t end = std::min<std::uint64_t>(first + kGroup, n);
  for (std::uint64_t i = first; i < end; ++i) body(static_cast<std::size_t>(i));
}

ConstWords in(const CpuInvocation& run, std::size_t index) {
  return run.buffer<const std::uint32_t>(index);
}
Words out(const CpuInvocation& run, std::size_t index) { return run.buffer<std::uint32_t>(index); }

}  // namespace

const Kernel& copy_kernel() {
  static const Kernel kernel = make(
      "copy", bindings({"x"}, {"out"}, Access::write), count_fields(),
      [](const CpuInvocation& run) {
        each(run, run.uniforms<Count>().n, [&](std::size_t i) { out(run, 1)[i] = in(run, 0)[i]; });
      },
      "  if (i < u.n) { out[i] = x[i]; }");
  return kernel;
}

const Kernel& add_kernel() {
  static const Kernel kernel = make(
      "add", bindings({"a", "b"}, {"out"}, Access::write), count_fields(),
      [](const CpuInvocation& run) {
        each(run, run.uniforms<Count>().n,
             [&](std::size_t i) { out(run, 2)[i] = in(run, 0)[i] + in(run, 1)[i]; });
      },
      "  if (i < u.n) { out[i] = a[i] + b[i]; }");
  return kernel;
}

const Kernel& scale_kernel() {
  static const Kernel kernel = make(
      "scale", bindings({"x"}, {"out"}, Access::write), scale_fields(),
      [](const CpuInvocation& run) {
        const auto u = run.uniforms<Scale>();
        each(run, u.n,
             [&](std::size_t i) { out(run, 1)[i] = in(run, 0)[i] * u.factor + u.offset; });
      },
      "  if (i < u.n) { out[i] = x[i] * u.factor + u.offset; }");
  return kernel;
}

const Kernel& split_kernel() {
  static const Kernel kernel = make(
      "split", bindings({"x"}, {"first", "second"}, Access::write), {word("n"), word("m")},
      [](const CpuInvocation& run) {
        const auto u = run.uniforms<Counts>();
        each(run, u.n, [&](std::size_t i) { out(run, 1)[i] = in(run, 0)[i] + 1; });
        each(run, u.m, [&](std::size_t i) { out(run, 2)[i] = in(run, 0)[i] * 3; });
      },
      "  if (i < u.n) { first[i] = x[i] + 1u; }\n"
      "  if (i < u.m) { second[i] = x[i] * 3u; }");
  return kernel;
}

const Kernel& accumulate_kernel() {
  static const Kernel kernel = make(
      "accumulate", bindings({"x"}, {"sum"}, Access::read_write), count_fields(),
      [](const CpuInvocation& run) {
        each(run, run.uniforms<Count>().n, [&](std::size_t i) { out(run, 1)[i] += in(run, 0)[i]; });
      },
      "  if (i < u.n) { sum[i] = sum[i] + x[i]; }");
  return kernel;
}

const Kernel& bump_kernel() {
  static const Kernel kernel = make(
      "bump", bindings({}, {"x"}, Access::read_write), scale_fields(),
      [](const CpuInvocation& run) {
        const auto u = run.uniforms<Scale>();
        each(run, u.n,
             [&](std::size_t i) { out(run, 0)[i] = out(run, 0)[i] * u.factor + u.offset; });
      },
      "  if (i < u.n) { x[i] = x[i] * u.factor + u.offset; }");
  return kernel;
}

const Kernel& zeros_kernel() {
  static const Kernel kernel = make(
      "zeros", bindings({}, {"out"}, Access::write), count_fields(),
      [](const CpuInvocation& run) {
        each(run, run.uniforms<Count>().n, [&](std::size_t i) { out(run, 0)[i] = 0; });
      },
      "  if (i < u.n) { out[i] = 0u; }");
  return kernel;
}

const Kernel& sparse_kernel() {
  static const Kernel kernel = make(
      "sparse", bindings({"a", "b", "c"}, {"out"}, Access::read_write), count_fields(),
      [](const CpuInvocation& run) {
        each(run, run.uniforms<Count>().n, [&](std::size_t i) {
          if (in(run, 0)[i] % 2 == 1) out(run, 3)[i] = in(run, 1)[i] + in(run, 2)[i];
        });
      },
      "  if (i < u.n && (a[i] & 1u) == 1u) { out[i] = b[i] + c[i]; }");
  return kernel;
}

const Kernel& reduce_kernel() {
  static const Kernel kernel = make(
      "reduce", bindings({"x"}, {"out"}, Access::write), count_fields(),
      [](const CpuInvocation& run) {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < run.uniforms<Count>().n; ++i) sum += in(run, 0)[i];
        out(run, 1)[0] = sum;
      },
      R"(  var sum = 0u;
  for (var k = i; k < u.n; k += 64u) { sum += x[k]; }
  sums[local] = sum;
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) { sums[local] += sums[local + half]; }
  }
  workgroupBarrier();
  if (i == 0u) { out[0] = sums[0]; })",
      "var<workgroup> sums: array<u32, 64>;\n");
  return kernel;
}

const Kernel& products_kernel() {
  static const Kernel kernel = make(
      "products", bindings({"x"}, {"out"}, Access::write), {word("n"), word("terms")},
      [](const CpuInvocation& run) {
        const auto u = run.uniforms<Products>();
        std::uint32_t sum = 0;
        for (std::uint32_t k = 0; k < u.terms; ++k) sum += in(run, 0)[k];
        each(run, u.n,
             [&](std::size_t i) { out(run, 1)[i] = static_cast<std::uint32_t>(i) * sum; });
      },
      R"(  var sum = 0u;
  for (var k = 0u; k < u.terms; k += 1u) { sum += x[k]; }
  if (i < u.n) { out[i] = i * sum; })");
  return kernel;
}

const Kernel& branch_kernel() {
  static const Kernel kernel = make(
      "branch", bindings({"flag", "x"}, {"out"}, Access::write), count_fields(),
      [](const CpuInvocation& run) {
        const std::size_t first = static_cast<std::size_t>(first_of(run));
        const bool reversed = in(run, 0)[0] != 0;
        each(run, run.uniforms<Count>().n, [&](std::size_t i) {
          out(run, 2)[i] = in(run, 1)[reversed ? first + (first + kGroup - 1 - i) : i];
        });
      },
      R"(  var value = x[i];
  if (flag[0] != 0u) {
    tile[local] = value;
    workgroupBarrier();
    value = tile[63u - local];
  }
  if (i < u.n) { out[i] = value; })",
      "var<workgroup> tile: array<u32, 64>;\n", Forms::plain);
  return kernel;
}

std::uint32_t mixed(std::uint32_t x, const Vectors& u) {
  std::uint32_t value = x + u.offset;
  for (const std::uint32_t c : u.three) value = value * 31 + c;
  for (const std::int32_t c : u.two) value = value * 31 + static_cast<std::uint32_t>(c);
  for (const std::uint32_t c : u.four) value = value * 31 + c;
  return value;
}

const Kernel& vectors_kernel() {
  static const Kernel kernel = make(
      "vectors", bindings({"x"}, {"out"}, Access::write),
      {word("offset"),
       {"three", Element::u32, 3, Builtin::none, {}},
       {"two", Element::i32, 2, Builtin::none, {}},
       {"four", Element::u32, 4, Builtin::none, {}},
       word("n")},
      [](const CpuInvocation& run) {
        const auto u = run.uniforms<Vectors>();
        each(run, u.n, [&](std::size_t i) { out(run, 1)[i] = mixed(in(run, 0)[i], u); });
      },
      R"(  if (i >= u.n) { return; }
  var value = x[i] + u.offset;
  value = value * 31u + u.three.x;
  value = value * 31u + u.three.y;
  value = value * 31u + u.three.z;
  value = value * 31u + bitcast<u32>(u.two.x);
  value = value * 31u + bitcast<u32>(u.two.y);
  value = value * 31u + u.four.x;
  value = value * 31u + u.four.y;
  value = value * 31u + u.four.z;
  value = value * 31u + u.four.w;
  out[i] = value;)");
  return kernel;
}

std::span<const Kernel> integer_kernels() {
  static const std::vector<Kernel> kernels = {
      copy_kernel(),       add_kernel(),      scale_kernel(),  split_kernel(),
      accumulate_kernel(), bump_kernel(),     zeros_kernel(),  sparse_kernel(),
      reduce_kernel(),     products_kernel(), branch_kernel(), vectors_kernel()};
  return kernels;
}

}  // namespace berth::test
