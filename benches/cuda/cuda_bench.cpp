// SPDX-License-Identifier: Apache-2.0
//
// What the cuda runtime costs over the driver by hand, on a real GPU: a repeated program beside the
// same graph made by hand, the first submission by stream and by graph, a re-recorded window, and
// where pages come from. Without a GPU every row says why it is skipped.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/berth.hpp"
#include "cuda_programs.hpp"
#include "runtime/cuda/cuda_compiler.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_tuning.hpp"

namespace {

using namespace berth;         // NOLINT: a bench's own file
using namespace berth::bench;  // NOLINT
namespace cuda = berth::runtime::cuda;

/// Ends the row if there is no GPU.
bool skipped(benchmark::State& state) {
  const std::string& why = why_no_gpu();
  if (!why.empty()) state.SkipWithError(why.c_str());
  return !why.empty();
}

Shape shape_of(const benchmark::State& state) {
  return {static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0,
          static_cast<std::uint32_t>(state.range(2))};
}

// A program again and again -----------------------------------------------------------------------

void repeated_by_hand(benchmark::State& state) {
  if (skipped(state)) return;
  HandGraph graph(shape_of(state));
  for (auto _ : state) {
    graph.launch();
    graph.wait();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void repeated_by_berth(benchmark::State& state) {
  if (skipped(state)) return;
  const auto backend = cuda::make_tuned({}, {.graph_from = 1});
  PreparedProgram program(*backend, shape_of(state));
  for (auto _ : state) backend->wait(program.submit());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Host time alone of a submission: 100 in a row, then a wait outside the clock.
void host_by_hand(benchmark::State& state) {
  if (skipped(state)) return;
  HandGraph graph(shape_of(state));
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) graph.launch();
    state.PauseTiming();
    graph.wait();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 100);
}

void host_by_berth(benchmark::State& state) {
  if (skipped(state)) return;
  const auto backend = cuda::make_tuned({}, {.graph_from = 1});
  PreparedProgram program(*backend, shape_of(state));
  for (auto _ : state) {
    runtime::Ticket last;
    for (int i = 0; i < 100; ++i) last = program.submit();
    state.PauseTiming();
    backend->wait(last);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 100);
}

// tasks, chained or not, loops of each thread: 256 independent and 128 chained ones.
#define BERTH_SHAPES Args({256, 0, 2000})->Args({256, 0, 1})->Args({128, 1, 1})->Args({16, 1, 1})
BENCHMARK(repeated_by_hand)->BERTH_SHAPES->UseRealTime();
BENCHMARK(repeated_by_berth)->BERTH_SHAPES->UseRealTime();
BENCHMARK(host_by_hand)->BERTH_SHAPES->UseRealTime();
BENCHMARK(host_by_berth)->BERTH_SHAPES->UseRealTime();

// A program seen once -----------------------------------------------------------------------------

void once(benchmark::State& state, std::uint32_t graph_from) {
  if (skipped(state)) return;
  const auto backend = cuda::make_tuned({}, {.graph_from = graph_from});
  PreparedProgram program(*backend, shape_of(state));
  for (auto _ : state) {
    program.prepare_again();
    backend->wait(program.submit());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void once_by_stream(benchmark::State& state) { once(state, 0); }
void once_by_graph(benchmark::State& state) { once(state, 1); }
BENCHMARK(once_by_stream)->BERTH_SHAPES->UseRealTime();
BENCHMARK(once_by_graph)->BERTH_SHAPES->UseRealTime();

/// Recorded anew through the public interface, planned and submitted, then waited for.
void recorded_window(benchmark::State& state) {
  if (skipped(state)) return;
  ConnectOptions options;
  options.runtime = "cuda";
  Client client = connect(options);
  const Shape shape = shape_of(state);
  const Kernel& kernel = loop_kernel();
  const Handle input = client.zeros(kTaskBytes);
  for (auto _ : state) {
    Handle last = input;
    std::vector<Handle> outputs;
    for (std::uint32_t i = 0; i < shape.tasks; ++i) {
      const Handle out = client.empty(kTaskBytes);
      client.launch(kernel, {kTaskGroups, 1, 1}, {shape.chained ? last : input, out},
                    LoopUniforms{kTaskWords, shape.loops});
      last = out;
      outputs.push_back(out);
    }
    client.sync();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(recorded_window)->BERTH_SHAPES->UseRealTime();

// Pages -------------------------------------------------------------------------------------------

void pages(benchmark::State& state, cuda::PageWay way) {
  if (skipped(state)) return;
  const auto backend = cuda::make_tuned({}, {.pages = way});
  const auto bytes = static_cast<Bytes>(state.range(0));
  for (auto _ : state) {
    const auto made = backend->make_page({bytes, memory::PageUse::storage, "bench"});
    if (made.failure) {
      state.SkipWithError(made.failure->message.c_str());
      return;
    }
    backend->free_page(made.page);
  }
}
void pages_stream_ordered(benchmark::State& state) { pages(state, cuda::PageWay::stream_ordered); }
void pages_direct(benchmark::State& state) { pages(state, cuda::PageWay::direct); }
void pages_virtual_memory(benchmark::State& state) {
  if (skipped(state)) return;
  VirtualMemory memory;
  for (auto _ : state) {
    const std::string why = memory.make_and_free(static_cast<Bytes>(state.range(0)));
    if (!why.empty()) {
      state.SkipWithError(why.c_str());
      return;
    }
  }
}
#define BERTH_PAGE_SIZES Arg(64 << 10)->Arg(2 << 20)->Arg(64 << 20)->Arg(1 << 30)
BENCHMARK(pages_stream_ordered)->BERTH_PAGE_SIZES->UseRealTime();
BENCHMARK(pages_direct)->BERTH_PAGE_SIZES->UseRealTime();
BENCHMARK(pages_virtual_memory)->BERTH_PAGE_SIZES->UseRealTime();

}  // namespace
