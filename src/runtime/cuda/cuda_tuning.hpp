// SPDX-License-Identifier: Apache-2.0
//
// What benches and tests choose otherwise than make_cuda() does, and what they may count.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_pages.hpp"

namespace berth::runtime::cuda {

struct Tuning {
  PageWay pages = PageWay::automatic;
  /// From which submission of a Prepared on it is a graph: 1 = always, 0 = never. A program seen
  /// once costs about a launch per task on the stream, and more than that to instantiate.
  std::uint32_t graph_from = 2;
};

/// What was made since the start; a steady state makes none of it.
struct Made {
  std::uint64_t graphs = 0;
  std::uint64_t node_updates = 0;
  std::uint64_t events = 0;
  std::uint64_t staging_chunks = 0;
};

[[nodiscard]] std::unique_ptr<Backend> make_tuned(const ConnectOptions& options,
                                                  const Tuning& tuning);
/// `backend` was made by make_tuned() or make_cuda().
[[nodiscard]] Made made_by(const Backend& backend);

}  // namespace berth::runtime::cuda
