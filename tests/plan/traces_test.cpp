// SPDX-License-Identifier: Apache-2.0
//
// The traces of tests/data: their own figures as published, and what the planner reaches on them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/plan/planner.hpp"
#include "brute_force.hpp"
#include "expect_plan.hpp"
#include "trace_files.hpp"

namespace berth::plan {
namespace {

/// A trace, and the most that `fast` may take as a ratio to the proven bound. `good` has one cap
/// per kind of trace; tightening `fast` is welcome, loosening it needs a reason.
struct TraceCap {
  const char* name;
  double fast;
};

bool is_random(const std::string& name) { return name.starts_with("dag_"); }

std::vector<TraceCap> caps() {
  return {{"dag_few_200", 1.06},
          {"dag_few_200_inplace", 1.05},
          {"dag_log_1000", 1.15},
          {"dag_log_1000_inplace", 1.13},
          {"dag_log_200", 1.22},
          {"dag_log_200_inplace", 1.22},
          {"dag_same_200", 1.01},
          {"dag_same_200_inplace", 1.01},
          {"inception_v3", 1.01},
          {"mlp_mixer", 1.01},
          {"mlp_mixer_inplace", 1.01},
          {"mobilenet_v1", 1.01},
          {"mobilenet_v2", 1.01},
          {"mobilenet_v2_inplace", 1.01},
          {"ppocr-v2-cls-b6", 1.02},
          {"ppocr-v4-det-736x1280", 1.01},
          {"resnet50", 1.01},
          {"resnet50_inplace", 1.01},
          {"transformer_fwd", 1.21},
          {"transformer_fwd_flash", 1.01},
          {"transformer_fwd_flash_inplace", 1.01},
          {"transformer_fwd_inplace", 1.01},
          {"transformer_fwd_sepqkv", 1.01},
          {"transformer_fwd_sepqkv_inplace", 1.01},
          {"transformer_train", 1.02},
          {"transformer_train_inplace", 1.02},
          {"unet", 1.01},
          {"unet_inplace", 1.01},
          {"unet_nocat", 1.01},
          {"unet_nocat_inplace", 1.01}};
}

double ratio(Bytes a, Bytes b) { return static_cast<double>(a) / static_cast<double>(b); }

nlohmann::json optima() { return nlohmann::json::parse(files::read("optima.json")); }

TEST(Traces, HaveThePublishedLowerBounds) {
  const nlohmann::json known = optima();
  ASSERT_EQ(caps().size(), known.size());
  for (const TraceCap& cap : caps()) {
    const Problem problem = files::window(cap.name);
    const Bytes bound = lower_bound(problem, brute::program_order(problem));
    EXPECT_EQ(bound, known[cap.name]["max_live"].get<Bytes>()) << cap.name;
  }
}

/// What the data README says of level order: max live, and the barriers that the data demands.
TEST(Traces, HaveThePublishedFiguresInLevelOrder) {
  const auto demanded = [](const char* name) {
    const Problem problem = files::window(name);
    std::vector<Place> own;
    own.reserve(problem.versions.size());
    for (std::uint32_t v = 0; v < problem.versions.size(); ++v) own.push_back({PageId(v), 0});
    return brute::plan_at(problem, own, brute::level_order(problem)).statistics.barriers_demanded;
  };
  EXPECT_EQ(demanded("inception_v3"), 66U);
  EXPECT_EQ(demanded("transformer_fwd_sepqkv"), 108U);
  EXPECT_EQ(demanded("transformer_train"), 188U);
  EXPECT_EQ(demanded("dag_log_1000"), 250U);
  const Problem dag = files::window("dag_log_1000");
  EXPECT_EQ(lower_bound(dag, brute::level_order(dag)), 48'495'616U);
}

/// All on one page, without exclusion: every task that depends on anything waits.
TEST(Traces, OnePageDemandsABarrierPerTask) {
  const Problem problem = files::window("inception_v3");
  const std::vector<Place> at(problem.versions.size(), Place{PageId(0), 0});
  Plan plan;
  plan.places = at;
  plan.pages.resize(1);
  plan.order = brute::level_order(problem);
  EXPECT_EQ(count_barriers(problem, plan), 126U);
}

TEST(Traces, FastStaysUnderItsCaps) {
  constexpr double kMean = 1.06;
  constexpr double kWorst = 1.25;
  const nlohmann::json known = optima();
  double logs = 0;
  for (const TraceCap& cap : caps()) {
    const Plan plan = expect_plan(files::window(cap.name), Effort::fast);
    const double reached =
        ratio(plan.statistics.peak, known[cap.name]["optimum_at_least"].get<Bytes>());
    EXPECT_LE(reached, cap.fast) << cap.name;
    EXPECT_LE(reached, kWorst) << cap.name;
    logs += std::log(reached);
  }
  EXPECT_LE(std::exp(logs / static_cast<double>(caps().size())), kMean);
}

TEST(Traces, GoodStaysUnderItsCapsAndAtTheBoundOnMost) {
  constexpr double kNetworks = 1.01;
  constexpr double kRandom = 1.03;
  constexpr double kShareAtBound = 0.85;
  const nlohmann::json known = optima();
  std::size_t at_bound = 0;
  for (const TraceCap& cap : caps()) {
    const Plan plan = expect_plan(files::window(cap.name), Effort::good);
    const auto bound = known[cap.name]["optimum_at_least"].get<Bytes>();
    EXPECT_LE(ratio(plan.statistics.peak, bound), is_random(cap.name) ? kRandom : kNetworks)
        << cap.name;
    // Bounds hold for up to six pages; a plan with more may go below.
    if (plan.statistics.peak <= bound) ++at_bound;
  }
  EXPECT_GE(static_cast<double>(at_bound), kShareAtBound * static_cast<double>(caps().size()));
}

TEST(Traces, BestReachesWhatIsKnown) {
  const nlohmann::json known = optima();
  for (const TraceCap& cap : caps()) {
    const Problem problem = files::window(cap.name);
    const auto best = known[cap.name]["best_known"].get<Bytes>();
    const double allowed = std::string(cap.name) == "dag_log_1000" ? 1.0005 : 1.0;
    // Time is the bench's affair: a busy machine gets more of it until the bound is reached.
    double reached = 0;
    for (const int seconds : {1, 4, 16}) {
      Options options;
      options.effort = Effort::best;
      options.time = std::chrono::seconds(seconds);
      reached = ratio(expect_plan(problem, options).statistics.peak, best);
      if (reached <= allowed) break;
    }
    EXPECT_LE(reached, allowed) << cap.name;
  }
}

TEST(Traces, FreeOrderNeedsNoMoreThanProgramOrder) {
  for (const char* name : {"ppocr-v4-det-736x1280", "dag_few_200"}) {
    Problem problem = files::window(name);
    const Plan program = expect_plan(problem, Effort::good);
    problem.goal.order = Order::free;
    const Plan free = expect_plan(problem, Effort::good);
    EXPECT_LE(free.statistics.peak, program.statistics.peak) << name;
  }
  const auto live_share = [](const char* name) {
    const Problem problem = files::window(name);
    return ratio(lower_bound(problem, brute::level_order(problem)),
                 lower_bound(problem, brute::program_order(problem)));
  };
  EXPECT_NEAR(live_share("ppocr-v4-det-736x1280"), 0.84, 0.005);
  EXPECT_NEAR(live_share("dag_few_200"), 0.59, 0.005);
}

/// Rows of issue 4: barriers in level order within a share of max live.
struct OverlapRow {
  const char* name;
  std::uint32_t barriers;
  double memory;  ///< of max live in level order
};

TEST(Traces, MostOverlapSpendsMemoryOnFewerBarriers) {
  for (const OverlapRow& row : std::vector<OverlapRow>{{"inception_v3", 78, 1.25},
                                                       {"transformer_fwd_sepqkv", 108, 1.25},
                                                       {"transformer_train", 200, 1.01},
                                                       {"dag_log_1000", 420, 1.10}}) {
    Problem problem = files::window(row.name);
    problem.goal.order = Order::level;
    const Plan least = expect_plan(problem, Effort::good);
    const auto allowed =
        static_cast<Bytes>(row.memory * static_cast<double>(least.statistics.lower_bound));
    problem.goal.mode = Mode::most_overlap;
    problem.goal.extra_share = 0;
    problem.goal.extra_at_least =
        allowed > least.statistics.peak ? allowed - least.statistics.peak : 0;
    Plan plan;
    for (const int seconds : {1, 4, 16}) {  // as above
      Options options;
      options.effort = Effort::best;
      options.time = std::chrono::seconds(seconds);
      plan = expect_plan(problem, options);
      if (plan.statistics.barriers <= row.barriers) break;
    }
    EXPECT_LE(plan.statistics.barriers, row.barriers) << row.name;
    EXPECT_LE(ratio(plan.statistics.peak, plan.statistics.lower_bound), row.memory) << row.name;
    EXPECT_LE(plan.statistics.barriers, least.statistics.barriers) << row.name;
  }
}

TEST(Traces, GoodNeedsHardlyMoreThanMaxLiveWithoutExclusion) {
  struct Row {
    const char* name;
    double cap;
  };
  // The aim is 1.005 on all of them; pangu_2.6B stands at 1.0076.
  const std::vector<Row> rows = {
      {"resnet50", 1.005}, {"pangu_2.6B", 1.008}, {"G_1", 1.005}, {"S_1", 1.005}};
  for (const Row& row : rows) {
    const Problem problem = files::lifetimes(std::string("idealloc/") + row.name + ".csv");
    const Plan plan = expect_plan(problem, Effort::good);
    EXPECT_LE(ratio(plan.statistics.peak, plan.statistics.lower_bound), row.cap) << row.name;
  }
}

}  // namespace
}  // namespace berth::plan
