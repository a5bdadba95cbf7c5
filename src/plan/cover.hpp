// SPDX-License-Identifier: Apache-2.0
//
// The cheapest set of nodes that touches every edge of a graph (weighted vertex cover): which
// versions to move so that no two of them clash. Exact on small components, greedy beyond.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "berth/units.hpp"

namespace berth::plan::detail {

/// Weight of a node that may not be taken. Edges between two such nodes are left uncovered.
inline constexpr Bytes kNever = kWholeSize;

/// Returns: per node, nonzero if it is in the cover.
[[nodiscard]] std::vector<std::uint8_t> cheapest_cover(
    const std::vector<Bytes>& weight,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace berth::plan::detail
