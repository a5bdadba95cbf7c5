// SPDX-License-Identifier: Apache-2.0
//
// A bound program as a CUDA graph: a node per step, edges where the data demands an order, so that
// everything else may overlap. Instantiated once; a later submission changes only the nodes whose
// grid, staging or uniform room changed. One thread at a time (the submission lock).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_steps.hpp"

namespace berth::runtime::cuda {

class ProgramGraph {
 public:
  /// Builds and instantiates it for `inputs`. Errors: Error(device) naming the task; DeviceLost.
  ProgramGraph(std::shared_ptr<const Device> device, std::shared_ptr<const BoundProgram> bound,
               const RunInputs& inputs);
  ProgramGraph(const ProgramGraph&) = delete;
  ProgramGraph& operator=(const ProgramGraph&) = delete;
  ~ProgramGraph();

  /// Makes it that of `inputs`. Returns: nodes changed. Errors: Error(device) naming the task, and
  /// the graph must not be used again; DeviceLost.
  /// Order: launches under way keep what they were launched with.
  std::uint32_t update(const RunInputs& inputs);
  /// Launches it on the device's stream. Errors: Error(device); DeviceLost.
  void launch() const;

 private:
  /// What a node was last given.
  struct Node {
    CUgraphNode node = nullptr;
    Grid grid;
    const std::byte* host = nullptr;
    bool enabled = true;
  };
  [[nodiscard]] CUresult add(std::size_t index, const std::vector<CUgraphNode>& after,
                             const RunInputs& inputs);
  [[nodiscard]] CUresult set_kernel(const Step& step, Node& node, const RunInputs& inputs,
                                    bool new_room);
  [[nodiscard]] CUresult set_copy(const Step& step, Node& node, std::byte* host);
  [[noreturn]] void fail(CUresult result, const Step& step, const char* what) const;
  void release() noexcept;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const BoundProgram> bound_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUdeviceptr uniforms_ = 0;
  std::vector<Node> nodes_;  // per step
};

}  // namespace berth::runtime::cuda
