// SPDX-License-Identifier: Apache-2.0
//
// make bench: what a handle and a recorded launch cost, what planning the MiniLM window costs, and
// the whole of MiniLM under the policies, with its memory beside the lower bound.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "bench_client.hpp"
#include "berth/berth.hpp"
#include "berth/plan/planner.hpp"
#include "berth_build_paths.hpp"
#include "minilm/model.hpp"
#include "minilm/safetensors.hpp"

namespace {

using namespace berth;  // NOLINT(google-build-using-namespace): a bench speaks of nothing else

void add_group(const CpuInvocation& /*invocation*/) {}

struct Scale {
  float a = 1;
  std::uint32_t n = 0;
};

Kernel three_bindings() {
  KernelSignature signature;
  signature.name = "three";
  signature.bindings = {{"a", Element::f32, Access::read, 1},
                        {"b", Element::f32, Access::read, 1},
                        {"out", Element::f32, Access::write, 1}};
  signature.uniforms = {{"a", Element::f32, 1, Builtin::none, {}},
                        {"n", Element::u32, 1, Builtin::none, {}}};
  signature.workgroup = {64, 1, 1};
  KernelCode code;
  code.target = Target::cpu;
  code.function = add_group;
  return {std::move(signature), {std::move(code)}};
}

void create_and_drop(benchmark::State& state) {
  Client client = connect({.runtime = "reference"});
  for (auto _ : state) {
    Handle handle = client.empty(4096);
    benchmark::DoNotOptimize(handle);
  }
}
BENCHMARK(create_and_drop);

void record_a_launch(benchmark::State& state) {
  Client client = connect({.runtime = "reference"});
  const Kernel kernel = three_bindings();
  Handle a = client.zeros(4096);
  Handle b = client.zeros(4096);
  Handle out = client.empty(4096);
  constexpr int kBurst = 10'000;
  const auto burst = [&] {
    for (int i = 0; i < kBurst; ++i) {
      client.launch(kernel, {16, 1, 1}, {a, b, out}, Scale{.a = 2, .n = 1024});
    }
  };
  client.flush();
  burst();
  client.discard();
  for (auto _ : state) {
    burst();
    state.PauseTiming();
    client.discard();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kBurst);
}
BENCHMARK(record_a_launch);

const minilm::SafeTensors& weights() {
  static const minilm::SafeTensors file =
      minilm::SafeTensors::open(std::string(build_paths::kMiniLm) + "/model.safetensors");
  return file;
}

void plan_minilm(benchmark::State& state) {
  auto watched = bench::connect_watched({.runtime = "reference-strict"});
  minilm::Embedder embedder(watched.client, weights());
  static_cast<void>(embedder.embed(bench::sentences(2, 16)));
  const plan::Problem problem = *watched.last_problem;
  const auto effort = static_cast<plan::Effort>(state.range(0));
  for (auto _ : state) {
    auto plan = plan::place(problem, {.effort = effort});
    benchmark::DoNotOptimize(plan);
  }
  state.counters["tasks"] = static_cast<double>(problem.tasks.size());
  state.counters["versions"] = static_cast<double>(problem.versions.size());
  state.SetLabel(effort == plan::Effort::fast ? "fast" : "good");
}
BENCHMARK(plan_minilm)
    ->Arg(static_cast<int>(plan::Effort::fast))
    ->Arg(static_cast<int>(plan::Effort::good))
    ->Unit(benchmark::kMicrosecond);

void embed(benchmark::State& state, const char* runtime, Policy policy) {
  ConnectOptions options;
  options.runtime = runtime;
  options.policy = policy;
  if (options.runtime == "wgpu") options.webgpu.library = build_paths::kWgpuNative;
  Client client = connect(options);
  minilm::Embedder embedder(client, weights());
  const auto inputs = bench::sentences(4, 32);
  static_cast<void>(embedder.embed(inputs));
  for (auto _ : state) {
    auto out = embedder.embed(inputs);
    benchmark::DoNotOptimize(out);
  }
  const WindowReport window = client.report().last_window;
  state.counters["peak_KiB"] = static_cast<double>(window.planned_peak) / 1024;
  state.counters["bound_KiB"] = static_cast<double>(window.lower_bound) / 1024;
  state.counters["ratio"] =
      static_cast<double>(window.planned_peak) / static_cast<double>(window.lower_bound);
  state.counters["barriers"] = window.barriers;
  state.counters["tokens/s"] =
      benchmark::Counter(4.0 * 32.0, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(embed, reference_window, "reference", Policy::window)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(embed, wgpu_window, "wgpu", Policy::window)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(embed, wgpu_per_task, "wgpu", Policy::per_task)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(embed, wgpu_exclusive, "wgpu", Policy::exclusive)->Unit(benchmark::kMillisecond);

}  // namespace
