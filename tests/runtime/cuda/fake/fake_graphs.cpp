// SPDX-License-Identifier: Apache-2.0
//
// Launches, capture and graphs of the fake libcuda. A graph's nodes run in a random order within
// its edges, so that a missing edge shows.
#include <cstring>

#include "runtime/cuda/fake/fake_state.hpp"

namespace fake_cuda {

namespace {

Graph& graph_of(CUgraph graph) { return *reinterpret_cast<Graph*>(graph); }
GraphExec& exec_of(CUgraphExec exec) { return *reinterpret_cast<GraphExec*>(exec); }
Node& node_of(CUgraphNode node) { return *reinterpret_cast<Node*>(node); }
const Function& function_of(CUfunction function) {
  return *reinterpret_cast<const Function*>(function);
}

CUresult add(CUgraph to, CUgraphNode* out, const CUgraphNode* after, std::size_t count,
             Operation operation) {
  Graph& graph = graph_of(to);
  auto node = std::make_unique<Node>();
  node->operation = std::move(operation);
  node->index = graph.nodes.size();
  for (std::size_t i = 0; i < count; ++i) node->after.push_back(node_of(after[i]).index);
  *out = reinterpret_cast<CUgraphNode>(node.get());
  graph.nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

/// The node with the number of `node` in an instantiated graph.
Node& in(CUgraphExec exec, CUgraphNode node) { return exec_of(exec).nodes[node_of(node).index]; }

Operation operation_of(const CUDA_KERNEL_NODE_PARAMS& p) {
  return kernel_operation(function_of(p.func), {p.gridDimX, p.gridDimY, p.gridDimZ},
                          {p.blockDimX, p.blockDimY, p.blockDimZ}, p.kernelParams);
}

Operation operation_of(const CUDA_MEMCPY3D& p) {
  const bool to_device = p.dstMemoryType == CU_MEMORYTYPE_DEVICE;
  const bool from_device = p.srcMemoryType == CU_MEMORYTYPE_DEVICE;
  const auto to = to_device ? p.dstDevice : reinterpret_cast<std::uint64_t>(p.dstHost);
  const auto from = from_device ? p.srcDevice : reinterpret_cast<std::uint64_t>(p.srcHost);
  return copy_operation(to, to_device, from, from_device, p.WidthInBytes);
}

bool sensible(std::array<unsigned, 3> grid, std::array<unsigned, 3> block) {
  for (int i = 0; i < 3; ++i) {
    if (grid.at(static_cast<std::size_t>(i)) == 0 || block.at(static_cast<std::size_t>(i)) == 0) {
      return false;
    }
  }
  return grid[1] <= 65535 && grid[2] <= 65535 && block[0] * block[1] * block[2] <= 1024;
}

CUresult run(std::vector<Node> nodes) {
  std::vector<bool> done(nodes.size());
  for (std::size_t count = 0; count < nodes.size(); ++count) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool is_ready = !done[i];
      for (const std::size_t before : nodes[i].after) is_ready = is_ready && done[before];
      if (is_ready) ready.push_back(i);
    }
    const std::size_t chosen = ready[state().random() % ready.size()];
    done[chosen] = true;
    if (!nodes[chosen].enabled) continue;
    if (const CUresult result = nodes[chosen].operation(); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Operation kernel_operation(const Function& function, std::array<unsigned, 3> grid,
                           std::array<unsigned, 3> block, void** parameters) {
  // The driver copies the arguments during the call.
  Launch launch;
  launch.grid = grid;
  launch.block = block;
  for (int i = 0; i < function.parameters; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], sizeof(value));
    launch.parameters.push_back(value);
  }
  return [run = function.run, launch = std::move(launch)] {
    for (const std::uint64_t parameter : launch.parameters) {
      if (!is_device(parameter, 4)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    run(launch);
    return CUDA_SUCCESS;
  };
}

}  // namespace fake_cuda

using fake_cuda::state;

extern "C" {

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                unsigned bx, unsigned by, unsigned bz, unsigned /*shared*/,
                                CUstream stream, void** parameters, void** /*extra*/) {
  FAKE_ENTER("cuLaunchKernel");
  if (!fake_cuda::sensible({gx, gy, gz}, {bx, by, bz})) return CUDA_ERROR_INVALID_VALUE;
  return fake_cuda::issue(
      stream, fake_cuda::kernel_operation(fake_cuda::function_of(function), {gx, gy, gz},
                                          {bx, by, bz}, parameters));
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode /*mode*/) {
  FAKE_ENTER("cuStreamBeginCapture");
  auto graph = std::make_unique<fake_cuda::Graph>();
  state().graphs.insert(graph.get());
  fake_cuda::stream_of(stream).capturing = graph.release();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  fake_cuda::Stream& fake = fake_cuda::stream_of(stream);
  FAKE_ENTER("cuStreamEndCapture");
  *graph = reinterpret_cast<CUgraph>(fake.capturing);
  fake.capturing = nullptr;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned /*flags*/) {
  FAKE_ENTER("cuGraphCreate");
  auto made = std::make_unique<fake_cuda::Graph>();
  state().graphs.insert(made.get());
  *graph = reinterpret_cast<CUgraph>(made.release());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  FAKE_ENTER("cuGraphDestroy");
  const std::unique_ptr<fake_cuda::Graph> owned(&fake_cuda::graph_of(graph));
  state().graphs.erase(owned.get());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  FAKE_ENTER("cuGraphAddKernelNode");
  if (!fake_cuda::sensible({params->gridDimX, params->gridDimY, params->gridDimZ},
                           {params->blockDimX, params->blockDimY, params->blockDimZ})) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return fake_cuda::add(graph, node, after, count, fake_cuda::operation_of(*params));
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      std::size_t count, const CUDA_MEMCPY3D* params,
                                      CUcontext /*context*/) {
  FAKE_ENTER("cuGraphAddMemcpyNode");
  if (params->WidthInBytes == 0 || params->Height != 1 || params->Depth != 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return fake_cuda::add(graph, node, after, count, fake_cuda::operation_of(*params));
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      std::size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                                      CUcontext /*context*/) {
  FAKE_ENTER("cuGraphAddMemsetNode");
  if (params->elementSize != 4 || params->height != 1) return CUDA_ERROR_INVALID_VALUE;
  return fake_cuda::add(graph, node, after, count,
                        fake_cuda::fill_operation(params->dst, params->value, params->width));
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                             unsigned long long /*flags*/) {
  FAKE_ENTER("cuGraphInstantiateWithFlags");
  auto made = std::make_unique<fake_cuda::GraphExec>();
  for (const auto& node : fake_cuda::graph_of(graph).nodes) made->nodes.push_back(*node);
  state().execs.insert(made.get());
  *exec = reinterpret_cast<CUgraphExec>(made.release());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_ENTER("cuGraphExecDestroy");
  const std::unique_ptr<fake_cuda::GraphExec> owned(&fake_cuda::exec_of(exec));
  state().execs.erase(owned.get());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS* params) {
  FAKE_ENTER("cuGraphExecKernelNodeSetParams");
  fake_cuda::in(exec, node).operation = fake_cuda::operation_of(*params);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMCPY3D* params,
                                                CUcontext /*context*/) {
  FAKE_ENTER("cuGraphExecMemcpyNodeSetParams");
  fake_cuda::in(exec, node).operation = fake_cuda::operation_of(*params);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  FAKE_ENTER("cuGraphNodeSetEnabled");
  fake_cuda::in(exec, node).enabled = enabled != 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FAKE_ENTER("cuGraphLaunch");
  // What it holds now counts, whatever is changed before it runs.
  return fake_cuda::issue(
      stream, [nodes = fake_cuda::exec_of(exec).nodes] { return fake_cuda::run(nodes); });
}

}  // extern "C"
