// SPDX-License-Identifier: Apache-2.0
//
// What the client's benches share: a client whose planner's problems can be kept, MiniLM's inputs.
#pragma once

#include <memory>
#include <vector>

#include "berth/client.hpp"
#include "berth/plan/problem.hpp"

namespace berth::bench {

/// A client that keeps the problem of each window it plans.
struct WatchedClient {
  Client client;
  std::shared_ptr<plan::Problem> last_problem;
};
[[nodiscard]] WatchedClient connect_watched(const ConnectOptions& options);

/// Sentences of fixed ids: `count` of `tokens` tokens each.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> sentences(std::size_t count,
                                                                std::uint32_t tokens);

}  // namespace berth::bench
