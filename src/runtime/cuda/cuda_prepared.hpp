// SPDX-License-Identifier: Apache-2.0
//
// A program bound to real pages: one flat step per command, with every address resolved that does
// not change between submissions, and checked. Nothing is issued here. Immutable once made.
#pragma once

#include <cuda.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_graph.hpp"
#include "runtime/cuda/cuda_kernels.hpp"
#include "runtime/cuda/cuda_pages.hpp"
#include "runtime/cuda/cuda_steps.hpp"

namespace berth::runtime::cuda {

/// What a Prepared keeps from one submission to the next; shared with what is encoded from it and
/// under way. With the submission lock held, but for `bound`.
struct PreparedState {
  std::shared_ptr<const BoundProgram> bound;
  std::uint32_t submissions = 0;
  std::unique_ptr<ProgramGraph> graph;
  RunInputs inputs;  // of the submission being made; kept for its capacity
};

class CudaPrepared final : public Prepared {
 public:
  explicit CudaPrepared(std::shared_ptr<const BoundProgram> bound)
      : state_(std::make_shared<PreparedState>()) {
    state_->bound = std::move(bound);
  }
  [[nodiscard]] const std::shared_ptr<PreparedState>& state() const { return state_; }

 private:
  std::shared_ptr<PreparedState> state_;
};

/// Resolves and checks a program.
/// Errors: Error(internal) for a program that does not fit its pages; Error(kernel); Unsupported
/// for
///   batches.
[[nodiscard]] std::shared_ptr<const BoundProgram> bind_program(
    const Device& device, const Pages& pages, Kernels& kernels,
    std::shared_ptr<const plan::Program> program, std::span<const memory::PageHandle> handles);

}  // namespace berth::runtime::cuda
