// SPDX-License-Identifier: Apache-2.0
//
// How a kernel's uniform block lies in memory for each target, from its fields alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/kernel.hpp"

namespace berth {

/// Offsets of the fields of one kernel's uniform block.
/// Source: WGSL, "Alignment and size"; CUDA and CPU: components of 4 bytes without padding.
struct UniformLayout {
  std::vector<Bytes> offsets;  ///< per field
  Bytes bytes = 0;             ///< of the block; 0 if the kernel has no fields
};
[[nodiscard]] UniformLayout layout_for(Target target, std::span<const UniformField> fields);

/// Writes values (in field order, 4 bytes a component, without padding) to a block of
/// `layout.bytes` at `out`. Padding is zeroed.
void pack_uniforms(const UniformLayout& layout, std::span<const UniformField> fields,
                   std::span<const std::uint32_t> words, std::byte* out);

}  // namespace berth
