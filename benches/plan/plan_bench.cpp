// SPDX-License-Identifier: Apache-2.0
//
// The planner's table: what must be reached, what is reached. `bench_plan [SECONDS]` gives each of
// MiniMalloc's instances that many seconds (5). Times are CPU times per tensor,
// the median of nine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "berth/plan/planner.hpp"
#include "berth_build_paths.hpp"
#include "trace/lifetimes_csv.hpp"
#include "trace/window_json.hpp"

namespace {

using berth::Access;
using berth::Bytes;
using berth::plan::Effort;
using berth::plan::Mode;
using berth::plan::Options;
using berth::plan::Order;
using berth::plan::Plan;
using berth::plan::Problem;

std::string read_data(const std::string& name) {
  std::ifstream stream(std::string(berth::build_paths::kSourceDir) + "/tests/data/" + name,
                       std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Problem window(const std::string& name) {
  return to_problem(berth::trace::read_window_json(read_data("traces/" + name + ".json"), name));
}

Problem lifetimes(const std::string& file) {
  return to_problem(berth::trace::read_lifetimes_csv(read_data(file), file));
}

Options options_of(Effort effort, std::chrono::milliseconds time = std::chrono::seconds(1)) {
  return {effort, time};
}

/// The checked plan; ends the program if there is none, for a table of wrong plans is worth
/// nothing.
Plan planned(const Problem& problem, const Options& options) {
  auto answer = place(problem, options);
  if (const auto* const none = std::get_if<berth::plan::NoPlan>(&answer)) {
    fmt::print(stderr, "no plan: {}\n", none->message);
    std::exit(1);
  }
  Plan plan = std::get<Plan>(std::move(answer));
  const auto violations = check(problem, plan);
  if (!violations.empty()) {
    fmt::print(stderr, "a wrong plan: {}\n", violations.front().message);
    std::exit(1);
  }
  return plan;
}

/// CPU seconds of one call: the median of nine measurements, each of as many calls as 2 ms take; a
/// call of more than half a second is measured once.
template <class Call>
double cpu_seconds(const Call& call) {
  constexpr double kLeast = 0.002;
  constexpr double kMost = 0.5;
  std::array<double, 9> measured{};
  std::size_t calls = 1;
  const auto measure = [&] {
    const std::clock_t start = std::clock();
    for (std::size_t i = 0; i < calls; ++i) call();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  double first = measure();
  if (first > kMost) return first;
  for (; first < kLeast; first = measure()) calls *= 2;
  for (double& seconds : measured) seconds = measure() / static_cast<double>(calls);
  std::nth_element(measured.begin(), measured.begin() + measured.size() / 2, measured.end());
  return measured[measured.size() / 2];
}

double microseconds_per_tensor(const Problem& problem, const Options& options) {
  constexpr double kMicro = 1e6;
  const double seconds = cpu_seconds([&] { static_cast<void>(place(problem, options)); });
  return seconds * kMicro / static_cast<double>(problem.versions.size());
}

double ratio(Bytes a, Bytes b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Rows of the table.
void head(const std::string& text) { fmt::print("\n{}\n", text); }
void row(const std::string& what, double reached, double target, const char* unit) {
  fmt::print("  {:<52}{:>12.4f}{:>12.4f}  {:<16}{}\n", what, reached, target, unit,
             reached <= target ? "ok" : "MISSED");
}
void row_at_least(const std::string& what, double reached, double target, const char* unit) {
  fmt::print("  {:<52}{:>12.4f}{:>12.4f}  {:<16}{}\n", what, reached, target, unit,
             reached >= target ? "ok" : "MISSED");
}
void note(const std::string& what, double value, const char* unit) {
  fmt::print("  {:<52}{:>12.4f}{:>12}  {}\n", what, value, "", unit);
}

struct Trace {
  std::string name;
  Problem problem;
  Bytes bound = 0;
  Bytes best_known = 0;
  [[nodiscard]] bool large() const { return problem.versions.size() > 500; }
  [[nodiscard]] bool random() const { return name.starts_with("dag_"); }
};

std::vector<Trace> traces() {
  std::vector<Trace> result;
  const auto optima = nlohmann::json::parse(read_data("optima.json"));
  for (const auto& [name, figures] : optima.items()) {
    result.push_back({name, window(name), figures["optimum_at_least"].get<Bytes>(),
                      figures["best_known"].get<Bytes>()});
  }
  return result;
}

void memory_rows(const std::vector<Trace>& all) {
  head("good: sum of pages / proven bound, program order");
  double networks = 0;
  double random = 0;
  double at_bound = 0;
  for (const Trace& trace : all) {
    const Bytes peak = planned(trace.problem, options_of(Effort::good)).statistics.peak;
    double& worst = trace.random() ? random : networks;
    worst = std::max(worst, ratio(peak, trace.bound));
    if (peak <= trace.bound) ++at_bound;
  }
  row("worst network", networks, 1.01, "x bound");
  row("worst random DAG", random, 1.03, "x bound");
  row_at_least("at the bound", at_bound / static_cast<double>(all.size()), 0.85, "of all traces");

  head("fast: sum of pages / proven bound, program order");
  double logs = 0;
  double worst = 0;
  for (const Trace& trace : all) {
    const Bytes peak = planned(trace.problem, options_of(Effort::fast)).statistics.peak;
    logs += std::log(ratio(peak, trace.bound));
    worst = std::max(worst, ratio(peak, trace.bound));
  }
  row("geometric mean", std::exp(logs / static_cast<double>(all.size())), 1.06, "x bound");
  row("worst", worst, 1.25, "x bound");

  head("best, 1 s: sum of pages / best known");
  double reached = 0;
  for (const Trace& trace : all) {
    const Bytes peak = planned(trace.problem, options_of(Effort::best)).statistics.peak;
    const double allowed = trace.name == "dag_log_1000" ? 1.0005 : 1;
    if (ratio(peak, trace.best_known) <= allowed) {
      ++reached;
    } else {
      row(trace.name, ratio(peak, trace.best_known), allowed, "x best known");
    }
  }
  row_at_least("traces that reach it", reached, static_cast<double>(all.size()), "traces");
}

/// A window of `count` tensors: blocks with a residual path, or a random DAG. The same everywhere.
Problem made_window(std::uint32_t count, bool random) {
  constexpr Bytes kAlignment = 256;
  std::mt19937_64 engine(count);
  Problem problem;
  for (std::uint32_t v = 0; v < count; ++v) {
    berth::plan::Version version;
    version.tensor = berth::plan::TensorId(v);
    version.alignment = kAlignment;
    version.bytes = kAlignment * (Bytes{1} + (engine() % 64) * (engine() % 64));
    problem.versions.push_back(version);
    berth::plan::Task task;
    task.first_use = static_cast<std::uint32_t>(problem.uses.size());
    const auto read = [&](std::uint32_t input) {
      const berth::plan::VersionId id(input);
      problem.uses.push_back({id, Access::read, {0, problem.versions[input].bytes}});
    };
    constexpr std::uint32_t kBlock = 8;
    constexpr std::uint32_t kReach = 60;
    if (v > 0 && random) {
      const auto first = v - 1 - static_cast<std::uint32_t>(engine() % std::min(v, kReach));
      const auto second = v - 1 - static_cast<std::uint32_t>(engine() % std::min(v, kReach));
      read(first);
      if (second != first) read(second);
    } else if (v > 0) {
      read(v - 1);
      if (v % kBlock == 0) read(v - kBlock);
    }
    problem.uses.push_back({berth::plan::VersionId(v), Access::write, {0, version.bytes}});
    task.use_count = static_cast<std::uint32_t>(problem.uses.size()) - task.first_use;
    problem.tasks.push_back(task);
  }
  return problem;
}

void time_rows(const std::vector<Trace>& all) {
  for (const Effort effort : {Effort::good, Effort::fast}) {
    const bool good = effort == Effort::good;
    head(good ? "good: CPU time per tensor" : "fast: CPU time per tensor");
    double networks = 0;
    double random = 0;
    double large = 0;
    for (const Trace& trace : all) {
      const double time = microseconds_per_tensor(trace.problem, options_of(effort));
      double& worst = !trace.random() ? networks : trace.large() ? large : random;
      worst = std::max(worst, time);
    }
    row("worst network", networks, good ? 30 : 2, "us");
    row("worst random DAG of 200", random, good ? 300 : 2, "us");
    row("worst random DAG of 1,000", large, good ? 300 : 2, "us");
    for (const bool is_random : {false, true}) {
      for (const std::uint32_t count : {1'000U, 10'000U, 100'000U}) {
        const Problem problem = made_window(count, is_random);
        const double time = microseconds_per_tensor(problem, options_of(effort));
        row(fmt::format("made {} of {} tensors", is_random ? "DAG" : "network", count), time,
            good ? (is_random ? 300 : 30) : 2, "us");
      }
    }
  }
  head("check: CPU time per tensor");
  const Problem problem = made_window(100'000, true);
  const Plan plan = planned(problem, options_of(Effort::fast));
  const double seconds = cpu_seconds([&] { static_cast<void>(check(problem, plan)); });
  note("made DAG of 100000 tensors", seconds * 10, "us");
}

void exact_rows() {
  head("exact: plans at the optimum with good (tests: 10,000 windows against brute force)");
  for (const auto& [file, target] :
       {std::pair{"small-instances.json", 17.0}, std::pair{"small-windows-cpsat.json", 500.0}}) {
    double right = 0;
    for (const auto& entry : nlohmann::json::parse(read_data(file))) {
      const Problem problem = to_problem(berth::trace::read_window_json(entry.dump(), file));
      const Plan plan = planned(problem, options_of(Effort::good));
      if (plan.statistics.peak == entry["optimum"].get<Bytes>()) ++right;
    }
    row_at_least(file, right, target, "windows");
  }
}

struct OverlapRow {
  const char* name;
  double barriers;
  double memory;  ///< of max live in level order
};

void overlap_rows() {
  head("most overlap, best, 1 s, level order: barriers within a share of max live");
  for (const OverlapRow& target :
       {OverlapRow{"inception_v3", 78, 1.25}, OverlapRow{"transformer_fwd_sepqkv", 108, 1.25},
        OverlapRow{"transformer_train", 200, 1.01}, OverlapRow{"dag_log_1000", 420, 1.10}}) {
    Problem problem = window(target.name);
    problem.goal.order = Order::level;
    const Plan least = planned(problem, options_of(Effort::good));
    const Bytes bound = least.statistics.lower_bound;
    const auto allowed = static_cast<Bytes>(target.memory * static_cast<double>(bound));
    problem.goal.mode = Mode::most_overlap;
    problem.goal.extra_share = 0;
    problem.goal.extra_at_least = allowed - std::min(allowed, least.statistics.peak);
    const Plan plan = planned(problem, options_of(Effort::best));
    note(fmt::format("{}: least memory", target.name), least.statistics.barriers, "barriers");
    note(fmt::format("{}: demanded by the data", target.name), plan.statistics.barriers_demanded,
         "barriers");
    row(fmt::format("{}: barriers", target.name), plan.statistics.barriers, target.barriers,
        "barriers");
    row(fmt::format("{}: memory", target.name), ratio(plan.statistics.peak, bound), target.memory,
        "x max live");
  }
}

void ordinary_rows() {
  head("no exclusion: good on idealloc's instances");
  for (const char* name : {"resnet50", "G_1", "pangu_2.6B", "S_1"}) {
    const Problem problem = lifetimes(std::string("idealloc/") + name + ".csv");
    const Plan plan = planned(problem, options_of(Effort::good));
    row(fmt::format("{} ({} buffers)", name, problem.versions.size()),
        ratio(plan.statistics.peak, plan.statistics.lower_bound), 1.005, "x max live");
    note(fmt::format("{}: time", name), microseconds_per_tensor(problem, options_of(Effort::good)),
         "us per buffer");
  }
}

void minimalloc_rows(std::chrono::milliseconds limit) {
  head("no exclusion: best on MiniMalloc's instances within 1,048,576 bytes");
  constexpr std::array<double, 11> kMiniMalloc = {4.52, 3.30, 0.60, 2.75, 3.11, 4.81,
                                                  1.06, 1.61, 3.48, 1.09, 0.49};
  double sum = 0;
  double placed = 0;
  for (std::size_t i = 0; i < kMiniMalloc.size(); ++i) {
    const std::string name(1, static_cast<char>('A' + i));
    Problem problem = lifetimes("minimalloc/" + name + ".1048576.csv");
    problem.device.budget = 1'048'576;
    const auto start = std::chrono::steady_clock::now();
    const auto answer = place(problem, options_of(Effort::best, limit));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const auto* const plan = std::get_if<Plan>(&answer);
    const bool right = plan != nullptr && check(problem, *plan).empty();
    if (right) ++placed;
    sum += time.count();
    fmt::print("  {:<52}{:>12.3f}{:>12.2f}  {:<16}{}\n", name, time.count(), kMiniMalloc[i], "s",
               right ? "placed" : "NOT FOUND");
  }
  row_at_least("placed", placed, 11, "instances");
  if (placed == 11) row("in sum", sum, 26.8, "s");
}

void print_table(double seconds) {
  constexpr double kMilliseconds = 1000;
  fmt::print("  {:<52}{:>12}{:>12}  {}\n", "what", "reached", "target", "unit");
  const std::vector<Trace> all = traces();
  memory_rows(all);
  time_rows(all);
  exact_rows();
  overlap_rows();
  ordinary_rows();
  minimalloc_rows(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * kMilliseconds)));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    print_table(argc > 1 ? std::atof(argv[1]) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
