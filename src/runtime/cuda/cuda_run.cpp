// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_run.hpp"

#include <array>
#include <cstring>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::cuda {

using plan::CommandKind;

ForeignWork::ForeignWork(std::shared_ptr<const Device> device, const BoundProgram& bound,
                         std::span<const ForeignFunction> functions)
    : device_(std::move(device)) {
  const DriverTable& api = device_->api();
  CUstream stream = nullptr;
  device_->check(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                 "making a stream for foreign tasks");
  try {
    for (const Step& step : bound.steps) {
      if (step.kind != CommandKind::foreign) continue;
      execs_.push_back(nullptr);
      execs_.back() = capture(stream, bound, step, functions[step.slot]);
    }
  } catch (...) {
    api.StreamDestroy(stream);
    release();
    throw;
  }
  api.StreamDestroy(stream);
}

ForeignWork::~ForeignWork() {
  const ContextScope scope(*device_);
  release();
}

void ForeignWork::release() noexcept {
  for (CUgraphExec exec : execs_) {
    if (exec != nullptr) device_->api().GraphExecDestroy(exec);
  }
  execs_.clear();
}

CUgraphExec ForeignWork::capture(CUstream stream, const BoundProgram& bound, const Step& step,
                                 const ForeignFunction& function) const {
  const DriverTable& api = device_->api();
  const std::string doing = text("capturing the foreign task \"", bound.label_of(step), "\"");
  // Relaxed: libraries allocate and query while they enqueue.
  device_->check(api.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), doing);
  CUgraph graph = nullptr;
  try {
    function(stream, std::span(bound.views).subspan(step.first_argument, step.arguments));
  } catch (...) {
    api.StreamEndCapture(stream, &graph);
    if (graph != nullptr) api.GraphDestroy(graph);
    throw;
  }
  device_->check(api.StreamEndCapture(stream, &graph), doing);
  if (graph == nullptr) return nullptr;
  CUgraphExec exec = nullptr;
  const CUresult result = api.GraphInstantiateWithFlags(&exec, graph, 0);
  api.GraphDestroy(graph);
  device_->check(result, doing);
  return exec;
}

void StreamRun::run() {
  for (const Step& step : bound_.steps) {
    const CUresult result = issue(step);
    if (result != CUDA_SUCCESS) {
      device_.fail(result, text("issuing the task \"", bound_.label_of(step), "\""));
    }
    issued_ = true;
  }
}

CUresult StreamRun::issue(const Step& step) {
  const DriverTable& api = device_.api();
  CUstream stream = device_.stream();
  const auto bytes = static_cast<std::size_t>(step.bytes);
  switch (step.kind) {
    case CommandKind::dispatch:
      return launch(step, inputs_.grids[step.grid]);
    case CommandKind::indirect:
      return launch(step, read_counts(step));
    case CommandKind::copy:
      return api.MemcpyDtoDAsync(step.b, step.a, bytes, stream);
    case CommandKind::fill:
      return api.MemsetD32Async(step.a, 0, bytes / 4, stream);
    case CommandKind::upload:
      return api.MemcpyHtoDAsync(step.a, inputs_.uploads[step.slot], bytes, stream);
    case CommandKind::readback:
      return api.MemcpyDtoHAsync(inputs_.readbacks[step.slot], step.a, bytes, stream);
    case CommandKind::foreign: {
      CUgraphExec exec = foreign_->exec(next_foreign_++);
      return exec == nullptr ? CUDA_SUCCESS : api.GraphLaunch(exec, stream);
    }
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult StreamRun::launch(const Step& step, const Grid& grid) const {
  if (grid.empty()) return CUDA_SUCCESS;
  LaunchParameters parameters(bound_, step, inputs_.uniforms);
  return device_.api().LaunchKernel(step.function, grid.x, grid.y, grid.z, step.workgroup.x,
                                    step.workgroup.y, step.workgroup.z, 0, device_.stream(),
                                    parameters.data(), nullptr);
}

Grid StreamRun::read_counts(const Step& step) {
  const std::string doing =
      text("reading the workgroup counts of the task \"", bound_.label_of(step), "\"");
  std::array<std::uint32_t, 3> counts{};
  std::byte* room = staging_.take(sizeof(counts), tickets_.submitted() + 1, tickets_.completed());
  device_.check(device_.api().MemcpyDtoHAsync(room, step.a, sizeof(counts), device_.stream()),
                doing);
  tickets_.drain(doing);
  std::memcpy(counts.data(), room, sizeof(counts));
  // A count above the limit means no workgroup at all, as in WebGPU's dispatchWorkgroupsIndirect.
  const std::uint32_t limit = device_.capabilities().limits.max_groups_per_dimension;
  for (const std::uint32_t count : counts) {
    if (count > limit) return {0, 0, 0};
  }
  return {counts[0], counts[1], counts[2]};
}

}  // namespace berth::runtime::cuda
