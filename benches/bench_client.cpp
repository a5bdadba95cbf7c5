// SPDX-License-Identifier: Apache-2.0
#include "bench_client.hpp"

#include "client/core.hpp"
#include "runtime/registry.hpp"

namespace berth::bench {

WatchedClient connect_watched(const ConnectOptions& options) {
  auto problem = std::make_shared<plan::Problem>();
  auto core = std::make_shared<client::Core>(options, runtime::make_backend(options));
  client::Seams seams;
  seams.planner = [problem](const plan::Problem& p, const plan::Options& o) {
    *problem = p;
    return plan::place(p, o);
  };
  core->set_seams(std::move(seams));
  return {Client(std::move(core)), problem};
}

std::vector<std::vector<std::uint32_t>> sentences(std::size_t count, std::uint32_t tokens) {
  std::vector<std::vector<std::uint32_t>> out(count);
  for (std::size_t s = 0; s < count; ++s) {
    out[s].push_back(101);  // [CLS]
    for (std::uint32_t t = 2; t < tokens; ++t) {
      const std::size_t id = 1996 + (s * 131 + std::size_t{t} * 17) % 20000;
      out[s].push_back(static_cast<std::uint32_t>(id));
    }
    out[s].push_back(102);  // [SEP]
  }
  return out;
}

}  // namespace berth::bench
