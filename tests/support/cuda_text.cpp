// SPDX-License-Identifier: Apache-2.0
#include "support/cuda_text.hpp"

#include <regex>

namespace berth::test {

namespace {

// Vectors of uniforms have no padding, unlike CUDA's own uint4.
constexpr std::string_view kPrelude = R"(
typedef unsigned u32;
typedef int i32;
typedef float f32;
template <class T> struct Vec2 { T x, y; };
template <class T> struct Vec3 { T x, y, z; };
template <class T> struct Vec4 { T x, y, z, w; };
template <class T, class S> __device__ T bitcast(S value) { return static_cast<T>(value); }
#define var auto
#define let const auto
#define workgroupBarrier() __syncthreads()
)";

std::string type_of(const UniformField& field) {
  std::string element = name_of(field.element);
  if (field.components == 1) return element;
  return "Vec" + std::to_string(field.components) + "<" + element + ">";
}

}  // namespace

KernelCode cuda_code(const KernelSignature& signature, std::string_view body,
                     std::string_view module) {
  KernelCode code;
  code.target = Target::cuda;
  code.entry = "test_" + signature.name;
  std::string& text = code.source;
  text = kPrelude;
  text += "struct Uniforms {";
  for (const UniformField& field : signature.uniforms) {
    text += " " + type_of(field) + " " + field.name + ";";
  }
  text += " };\n";
  text += std::regex_replace(std::string(module),
                             std::regex(R"(var<workgroup> (\w+): array<u32, (\d+)>;)"),
                             "__shared__ u32 $1[$2];");
  text += "extern \"C\" __global__ void " + code.entry + "(";
  for (const BindingSignature& binding : signature.bindings) {
    text += (writes(binding.access) ? "u32* " : "const u32* ") + binding.name + ", ";
  }
  text += R"(const Uniforms* uniforms) {
  const Uniforms u = *uniforms;
  const u32 local = threadIdx.x;
  const u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + local;
)";
  text.append(body).append("\n}\n");
  return code;
}

}  // namespace berth::test
