// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_graph.hpp"

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/cuda/cuda_hazards.hpp"

namespace berth::runtime::cuda {

using plan::CommandKind;

namespace {

// A node cannot have an empty grid: it gets this one, and is disabled.
constexpr Grid kPlaceholder{1, 1, 1};

CUDA_KERNEL_NODE_PARAMS kernel_node(const Step& step, const Grid& grid,
                                    LaunchParameters& parameters) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = step.function;
  params.gridDimX = grid.x;
  params.gridDimY = grid.y;
  params.gridDimZ = grid.z;
  params.blockDimX = step.workgroup.x;
  params.blockDimY = step.workgroup.y;
  params.blockDimZ = step.workgroup.z;
  params.kernelParams = parameters.data();
  return params;
}

/// One row of bytes; `host` is the staging of an upload or a readback.
CUDA_MEMCPY3D copy_node(const Step& step, std::byte* host) {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = static_cast<std::size_t>(step.bytes);
  copy.Height = 1;
  copy.Depth = 1;
  if (step.kind == CommandKind::upload) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = step.a;
    return copy;
  }
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = step.a;
  if (step.kind == CommandKind::readback) {
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
  } else {
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = step.b;
  }
  return copy;
}

std::byte* staging_of(const Step& step, const RunInputs& inputs) {
  if (step.kind == CommandKind::upload) return inputs.uploads[step.slot];
  if (step.kind == CommandKind::readback) return inputs.readbacks[step.slot];
  return nullptr;
}

}  // namespace

ProgramGraph::ProgramGraph(std::shared_ptr<const Device> device,
                           std::shared_ptr<const BoundProgram> bound, const RunInputs& inputs)
    : device_(std::move(device)),
      bound_(std::move(bound)),
      uniforms_(inputs.uniforms),
      nodes_(bound_->steps.size()) {
  const DriverTable& api = device_->api();
  try {
    device_->check(api.GraphCreate(&graph_, 0), text("making a graph of ", bound_->name));
    const auto waits_for = dependencies_of(*bound_->program, bound_->pages);
    std::vector<CUgraphNode> after;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      after.clear();
      for (const std::uint32_t earlier : waits_for[i]) after.push_back(nodes_[earlier].node);
      const CUresult result = add(i, after, inputs);
      if (result != CUDA_SUCCESS) fail(result, bound_->steps[i], "adding to a graph");
    }
    device_->check(api.GraphInstantiateWithFlags(&exec_, graph_, 0),
                   text("instantiating the graph of ", bound_->name));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].enabled) continue;
      const CUresult result = api.GraphNodeSetEnabled(exec_, nodes_[i].node, 0);
      if (result != CUDA_SUCCESS) fail(result, bound_->steps[i], "leaving out");
    }
  } catch (...) {
    release();
    throw;
  }
}

ProgramGraph::~ProgramGraph() {
  const ContextScope scope(*device_);
  release();
}

void ProgramGraph::release() noexcept {
  if (exec_ != nullptr) device_->api().GraphExecDestroy(exec_);
  if (graph_ != nullptr) device_->api().GraphDestroy(graph_);
}

void ProgramGraph::fail(CUresult result, const Step& step, const char* what) const {
  device_->fail(result, text(what, " the task \"", bound_->label_of(step), "\""));
}

CUresult ProgramGraph::add(std::size_t index, const std::vector<CUgraphNode>& after,
                           const RunInputs& inputs) {
  const DriverTable& api = device_->api();
  const Step& step = bound_->steps[index];
  Node& node = nodes_[index];
  switch (step.kind) {
    case CommandKind::dispatch: {
      node.grid = inputs.grids[step.grid];
      node.enabled = !node.grid.empty();
      LaunchParameters parameters(*bound_, step, uniforms_);
      const CUDA_KERNEL_NODE_PARAMS params =
          kernel_node(step, node.enabled ? node.grid : kPlaceholder, parameters);
      return api.GraphAddKernelNode(&node.node, graph_, after.data(), after.size(), &params);
    }
    case CommandKind::copy:
    case CommandKind::upload:
    case CommandKind::readback: {
      std::byte* host = staging_of(step, inputs);
      node.host = host;
      const CUDA_MEMCPY3D copy = copy_node(step, host);
      return api.GraphAddMemcpyNode(&node.node, graph_, after.data(), after.size(), &copy,
                                    device_->context());
    }
    case CommandKind::fill: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      fill.dst = step.a;
      fill.elementSize = 4;
      fill.width = static_cast<std::size_t>(step.bytes / 4);
      fill.height = 1;
      return api.GraphAddMemsetNode(&node.node, graph_, after.data(), after.size(), &fill,
                                    device_->context());
    }
    case CommandKind::indirect:
    case CommandKind::foreign:
      break;  // stream only
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

std::uint32_t ProgramGraph::update(const RunInputs& inputs) {
  std::uint32_t changed = 0;
  const bool new_room = inputs.uniforms != uniforms_;
  uniforms_ = inputs.uniforms;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Step& step = bound_->steps[i];
    Node& node = nodes_[i];
    CUresult result = CUDA_SUCCESS;
    if (step.kind == CommandKind::dispatch) {
      if (node.grid == inputs.grids[step.grid] && !(new_room && step.has_uniforms)) continue;
      result = set_kernel(step, node, inputs, new_room);
    } else {
      std::byte* host = staging_of(step, inputs);
      if (node.host == host) continue;
      result = set_copy(step, node, host);
    }
    if (result != CUDA_SUCCESS) fail(result, step, "changing the graph node of");
    ++changed;
  }
  return changed;
}

CUresult ProgramGraph::set_kernel(const Step& step, Node& node, const RunInputs& inputs,
                                  bool new_room) {
  const DriverTable& api = device_->api();
  const Grid grid = inputs.grids[step.grid];
  const bool enabled = !grid.empty();
  if (enabled || (new_room && step.has_uniforms)) {
    LaunchParameters parameters(*bound_, step, uniforms_);
    const CUDA_KERNEL_NODE_PARAMS params =
        kernel_node(step, enabled ? grid : kPlaceholder, parameters);
    const CUresult result = api.GraphExecKernelNodeSetParams(exec_, node.node, &params);
    if (result != CUDA_SUCCESS) return result;
  }
  node.grid = grid;
  if (enabled == node.enabled) return CUDA_SUCCESS;
  node.enabled = enabled;
  return api.GraphNodeSetEnabled(exec_, node.node, enabled ? 1 : 0);
}

CUresult ProgramGraph::set_copy(const Step& step, Node& node, std::byte* host) {
  node.host = host;
  const CUDA_MEMCPY3D copy = copy_node(step, host);
  return device_->api().GraphExecMemcpyNodeSetParams(exec_, node.node, &copy, device_->context());
}

void ProgramGraph::launch() const {
  device_->check(device_->api().GraphLaunch(exec_, device_->stream()),
                 text("launching the graph of ", bound_->name));
}

}  // namespace berth::runtime::cuda
