// SPDX-License-Identifier: Apache-2.0
//
// Small windows are solved exactly: against published optima, brute force, and CP-SAT.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "brute_force.hpp"
#include "expect_plan.hpp"
#include "random_window.hpp"
#include "trace_files.hpp"

namespace berth::plan {
namespace {

/// Every window of a list of windows with an "optimum" gets exactly that peak.
void expect_optima(const std::string& file, std::size_t count) {
  const nlohmann::json list = nlohmann::json::parse(files::read(file));
  ASSERT_EQ(list.size(), count);
  for (const nlohmann::json& entry : list) {
    const Problem problem =
        trace::to_problem(trace::read_window_json(entry.dump(), entry["name"].get<std::string>()));
    const Plan plan = expect_plan(problem, Effort::good);
    EXPECT_EQ(plan.statistics.peak, entry["optimum"].get<Bytes>()) << entry["name"];
  }
}

TEST(Exact, FindsTheOptimumOfEverySmallInstance) { expect_optima("small-instances.json", 17); }

TEST(Exact, FindsTheOptimumThatCpSatProved) { expect_optima("small-windows-cpsat.json", 500); }

TEST(Exact, BruteForceAgreesWithThePublishedOptima) {
  constexpr std::size_t kMostTensors = 9;
  std::size_t compared = 0;
  for (const char* file : {"small-instances.json", "small-windows-cpsat.json"}) {
    for (const nlohmann::json& entry : nlohmann::json::parse(files::read(file))) {
      if (entry["tensors"].size() > kMostTensors) continue;
      const Problem problem = trace::to_problem(trace::read_window_json(entry.dump(), file));
      EXPECT_EQ(brute::optimum(problem, brute::program_order(problem)),
                entry["optimum"].get<Bytes>())
          << entry["name"];
      ++compared;
    }
  }
  EXPECT_GT(compared, 80U);
}

TEST(Exact, FindsTheOptimumOfTenThousandRandomWindows) {
  constexpr std::uint64_t kWindows = 10'000;
  constexpr std::uint32_t kMostTensors = 8;
  for (std::uint64_t seed = 0; seed < kWindows; ++seed) {
    Problem problem = table::random_window(seed, kMostTensors, table::Sizes::whole);
    const Plan plan = expect_plan(problem, Effort::good);
    const Bytes optimum = brute::optimum(problem, brute::program_order(problem));
    ASSERT_EQ(plan.statistics.peak, optimum) << "seed " << seed;
    const Plan fast = expect_plan(problem, Effort::fast);
    ASSERT_GE(fast.statistics.peak, optimum) << "seed " << seed;
  }
}

TEST(Exact, FindsTheOptimumWithoutExclusionAndUnderAPageLimit) {
  constexpr std::uint64_t kWindows = 2'000;
  constexpr std::uint32_t kMostTensors = 7;
  for (std::uint64_t seed = 0; seed < kWindows; ++seed) {
    Problem problem = table::random_window(seed + 100'000, kMostTensors, table::Sizes::whole);
    problem.device.exclusion = seed % 2 == 0;
    if (problem.device.exclusion) {
      Bytes largest = 0;
      for (const Version& version : problem.versions) {
        largest = std::max(largest, align_up(version.bytes, version.alignment));
      }
      problem.device.max_page_bytes = std::max<Bytes>(largest + largest / 2, 1);
    }
    const Plan plan = expect_plan(problem, Effort::good);
    ASSERT_EQ(plan.statistics.peak, brute::optimum(problem, brute::program_order(problem)))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::plan
