// SPDX-License-Identifier: Apache-2.0
//
// The WGSL of GELU, written from the table the CPU uses.
// Thread safety: see gelu.hpp.
#include "minilm/gelu.hpp"

#include <charconv>
#include <span>

#include "minilm/kernels.hpp"

namespace minilm {
namespace {

// The shortest text that reads back as the same float. WGSL takes 1e-05 without a point or an f.
std::string literal(float value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  return {text.data(), end.ptr};
}

std::string horner(const char* name, std::span<const float> table) {
  std::string text = std::string("  var ") + name + " = vec4f(" + literal(table[0]) + ");\n";
  for (const float coefficient : table.subspan(1)) {
    text += std::string("  ") + name + " = fma(" + name + ", square, vec4f(" +
            literal(coefficient) + "));\n";
  }
  return text;
}

}  // namespace

float erf_rational(float x) { return erf_inline(x); }

std::string gelu_wgsl() {
  return "fn gelu(v: vec4f) -> vec4f {\n  let x = clamp(v * " + literal(kSqrtHalf) + ", vec4f(" +
         literal(-kErfClamp) + "), vec4f(" + literal(kErfClamp) + "));\n  let square = x * x;\n" +
         horner("p", kErfP) + horner("q", kErfQ) + "  return 0.5 * v * (1.0 + x * p / q);\n}\n";
}

}  // namespace minilm
