// SPDX-License-Identifier: Apache-2.0
//
// The memory of MiniLM's window under each policy, beside the lower bound: printed and golden.
// On reference-strict: WebGPU's rule and the portable alignment, so the figures are those of any
// device that keeps to the default limits.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "berth/client.hpp"
#include "berth_build_paths.hpp"
#include "minilm/model.hpp"
#include "minilm/safetensors.hpp"

namespace minilm {
namespace {

struct Golden {
  berth::Policy policy;
  berth::Bytes peak;
  berth::Bytes bound;
};

berth::WindowReport window_of(berth::Policy policy) {
  berth::ConnectOptions options;
  options.runtime = "reference-strict";
  options.policy = policy;
  berth::Client client = berth::connect(options);
  const auto weights =
      SafeTensors::open(std::string(berth::build_paths::kMiniLm) + "/model.safetensors");
  Embedder embedder(client, weights);
  const std::vector<std::vector<std::uint32_t>> sentences = {
      {101, 7592, 2088, 102}, {101, 2023, 2003, 1037, 3231, 102}, {101, 4937, 102}};
  static_cast<void>(embedder.embed(sentences));
  const std::uint64_t pages = client.report().pages_made;
  static_cast<void>(embedder.embed(sentences));
  EXPECT_EQ(client.report().pages_made, pages) << "a second embed of the same shape makes a page";
  return client.report().last_window;
}

TEST(MiniLmMemory, OfItsWindowIsGoldenUnderEachPolicy) {
  const std::vector<Golden> goldens = {
      {berth::Policy::window, 198'400, 166'144},
      {berth::Policy::per_task, 359'692, 166'144},
      {berth::Policy::exclusive, 253'524, 166'144},
  };
  for (const Golden& golden : goldens) {
    const berth::WindowReport window = window_of(golden.policy);
    std::printf("MiniLM window, policy %-9s: planned peak %8llu, lower bound %8llu, ratio %.3f\n",
                name_of(golden.policy), static_cast<unsigned long long>(window.planned_peak),
                static_cast<unsigned long long>(window.lower_bound),
                static_cast<double>(window.planned_peak) / static_cast<double>(window.lower_bound));
    EXPECT_EQ(window.planned_peak, golden.peak) << name_of(golden.policy);
    EXPECT_EQ(window.lower_bound, golden.bound) << name_of(golden.policy);
    EXPECT_EQ(window.repairs, 0U) << name_of(golden.policy);
  }
}

}  // namespace
}  // namespace minilm
