// SPDX-License-Identifier: Apache-2.0
//
// Which in-place pairs a window takes. An output that takes over its input's bytes saves a room,
// and binds both to one place. Decides by the order and the fixed places alone.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/window.hpp"

namespace berth::plan::detail {

/// Fills window.taken and window.given; needs window.position and window.lives.
/// Returns: per version the one it takes over (kNone: none).
[[nodiscard]] std::vector<std::uint32_t> take_pairs(const Problem& problem, Window& window,
                                                    InPlace in_place);

}  // namespace berth::plan::detail
