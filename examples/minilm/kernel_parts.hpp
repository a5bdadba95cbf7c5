// SPDX-License-Identifier: Apache-2.0
//
// Short words for the signatures of the model's kernels: rows of float32 read as vec4f, numbers
// that are uint32, uniforms that are one uint32 each.
// Thread safety: pure functions.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "berth/kernel.hpp"

namespace minilm {

/// A binding that the WGSL reads as array<vec4f>.
inline berth::BindingSignature rows_of(std::string name) {
  return {std::move(name), berth::Element::f32, berth::Access::read, 4};
}
/// A binding that the kernel overwrites as a whole, array<vec4f> in the WGSL.
inline berth::BindingSignature result(std::string name) {
  return {std::move(name), berth::Element::f32, berth::Access::write, 4};
}
/// A binding that the WGSL reads as array<u32>.
inline berth::BindingSignature numbers(std::string name) {
  return {std::move(name), berth::Element::u32, berth::Access::read, 1};
}

/// A kernel with one uint32 uniform for each name, and both of its codes.
/// Order: `wgsl` binds as berth numbers them: bindings in group 0, the uniforms in group 1.
inline berth::Kernel make_kernel(std::string name, std::vector<berth::BindingSignature> bindings,
                                 std::initializer_list<const char*> uniforms, std::uint32_t threads,
                                 std::string wgsl, berth::CpuFunction function) {
  berth::KernelSignature signature;
  signature.name = std::move(name);
  signature.bindings = std::move(bindings);
  for (const char* uniform : uniforms) signature.uniforms.emplace_back().name = uniform;
  signature.workgroup.x = threads;
  std::vector<berth::KernelCode> codes(2);
  codes[0].target = berth::Target::wgsl;
  codes[0].source = std::move(wgsl);
  codes[0].loops_end = true;
  codes[1].target = berth::Target::cpu;
  codes[1].function = function;
  codes[1].loops_end = true;
  return {std::move(signature), std::move(codes)};
}

}  // namespace minilm
