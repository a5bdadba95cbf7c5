// SPDX-License-Identifier: Apache-2.0
#include "base/uniform_layout.hpp"

#include <cstring>

namespace berth {

UniformLayout layout_for(Target target, std::span<const UniformField> fields) {
  UniformLayout layout;
  Bytes end = 0;
  Bytes widest = 4;
  for (const UniformField& field : fields) {
    Bytes alignment = 4;
    if (target == Target::wgsl && field.components > 1) {
      alignment = field.components == 2 ? 8 : 16;  // vec3 is aligned like vec4
    }
    widest = widest < alignment ? alignment : widest;
    end = align_up(end, alignment);
    layout.offsets.push_back(end);
    end += Bytes{4} * field.components;
  }
  layout.bytes = align_up(end, widest);
  return layout;
}

void pack_uniforms(const UniformLayout& layout, std::span<const UniformField> fields,
                   std::span<const std::uint32_t> words, std::byte* out) {
  if (layout.bytes == 0) return;
  std::memset(out, 0, static_cast<std::size_t>(layout.bytes));
  std::size_t word = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::memcpy(out + layout.offsets[i], words.data() + word,
                std::size_t{4} * fields[i].components);
    word += fields[i].components;
  }
}

}  // namespace berth
