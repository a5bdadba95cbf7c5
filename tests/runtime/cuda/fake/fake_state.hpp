// SPDX-License-Identifier: Apache-2.0
//
// The inside of the fake libcuda.
#pragma once

#include <cuda.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "runtime/cuda/fake/fake_cuda.hpp"

namespace fake_cuda {

/// Work on a stream or in a node; answers an error that breaks the device.
using Operation = std::function<CUresult()>;

struct Stream {
  std::deque<Operation> pending;
  std::uint64_t issued = 0;
  std::uint64_t executed = 0;
  struct Graph* capturing = nullptr;
};
struct Event {
  Stream* stream = nullptr;
  std::uint64_t position = 0;
};
struct Function {
  std::string entry;
  int parameters = 0;
  KernelFunction run;
};
struct Module {
  std::string image;
  std::map<std::string, Function> functions;
};
struct Node {
  Operation operation;
  std::vector<std::size_t> after;
  bool enabled = true;
  std::size_t index = 0;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct GraphExec {
  std::vector<Node> nodes;
};
struct Allocation {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
  bool device = true;
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, std::pair<int, CUresult>> failures;  // by function: call number, answer
  int countable = 0;
  std::optional<std::pair<int, CUresult>> any_failure;
  std::optional<CUresult> work_failure;
  CUresult sticky = CUDA_SUCCESS;
  std::map<std::string, Function> kernels;  // by source
  std::map<int, int> attributes;
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30U;
  std::size_t used = 0;
  Work work = Work::at_once;
  std::mt19937_64 random{1};
  int pageable_copies = 0;
  std::map<std::uint64_t, Allocation> allocations;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Graph*> graphs;
  std::set<GraphExec*> execs;
  std::set<Module*> modules;
  std::size_t pools = 0;
  std::size_t primary_references = 0;
  std::vector<CUcontext> current;
  Stream host_stream;
};
[[nodiscard]] State& state();

/// Counts a call. Returns: what it must answer at once, or success to go on.
[[nodiscard]] CUresult enter(const char* function);
/// Puts work on a stream, or into the graph being captured there.
CUresult issue(CUstream stream, Operation operation);
/// Executes the stream's work up to a position.
CUresult execute(Stream& stream, std::uint64_t position);
[[nodiscard]] bool is_device(std::uint64_t address, std::size_t bytes);
[[nodiscard]] Stream& stream_of(CUstream stream);

/// Operations that check their addresses when they run.
[[nodiscard]] Operation copy_operation(std::uint64_t to, bool to_device, std::uint64_t from,
                                       bool from_device, std::size_t bytes);
[[nodiscard]] Operation fill_operation(std::uint64_t to, std::uint32_t value, std::size_t words);
[[nodiscard]] Operation kernel_operation(const Function& function, std::array<unsigned, 3> grid,
                                         std::array<unsigned, 3> block, void** parameters);

}  // namespace fake_cuda

// First line of an entry point.
#define FAKE_ENTER(name)                                  \
  const std::lock_guard lock(::fake_cuda::state().mutex); \
  if (const CUresult early = ::fake_cuda::enter(name); early != CUDA_SUCCESS) return early
