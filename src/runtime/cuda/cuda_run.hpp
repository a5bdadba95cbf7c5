// SPDX-License-Identifier: Apache-2.0
//
// Issues a bound program straight to the device's stream, in program order: what a program seen
// once costs least with. And the caller's own commands: captured while a submission is encoded,
// launched in their place.
#pragma once

#include <cuda.h>

#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_staging.hpp"
#include "runtime/cuda/cuda_steps.hpp"
#include "runtime/cuda/cuda_tickets.hpp"

namespace berth::runtime::cuda {

/// The foreign commands of one submission as graphs: `native` of a foreign function is a stream
/// that is being captured, so it must enqueue only, and neither wait nor use other streams that do
/// not fork from it.
class ForeignWork {
 public:
  /// Runs the functions. Errors: what a function throws; Error(device) naming the task; DeviceLost.
  ForeignWork(std::shared_ptr<const Device> device, const BoundProgram& bound,
              std::span<const ForeignFunction> functions);
  ForeignWork(const ForeignWork&) = delete;
  ForeignWork& operator=(const ForeignWork&) = delete;
  ~ForeignWork();

  /// Null where the function enqueued nothing. Index: the foreign steps in order.
  [[nodiscard]] CUgraphExec exec(std::size_t index) const { return execs_[index]; }

 private:
  [[nodiscard]] CUgraphExec capture(CUstream stream, const BoundProgram& bound, const Step& step,
                                    const ForeignFunction& function) const;
  void release() noexcept;
  std::shared_ptr<const Device> device_;
  std::vector<CUgraphExec> execs_;
};

/// Issues the steps one by one.
/// Cost: an indirect dispatch reads its three counts back first, and so waits for everything before
///   it: the driver takes no grid from device memory.
class StreamRun {
 public:
  StreamRun(const Device& device, Tickets& tickets, Staging& staging, const BoundProgram& bound,
            const RunInputs& inputs, const ForeignWork* foreign)
      : device_(device),
        tickets_(tickets),
        staging_(staging),
        bound_(bound),
        inputs_(inputs),
        foreign_(foreign) {}

  /// Errors: Error(device) naming the task; DeviceLost. See issued().
  void run();
  /// True once a step was issued: then a failure leaves half a window, which nothing can undo.
  [[nodiscard]] bool issued() const { return issued_; }

 private:
  [[nodiscard]] CUresult issue(const Step& step);
  [[nodiscard]] CUresult launch(const Step& step, const Grid& grid) const;
  [[nodiscard]] Grid read_counts(const Step& step);

  const Device& device_;
  Tickets& tickets_;
  Staging& staging_;
  const BoundProgram& bound_;
  const RunInputs& inputs_;
  const ForeignWork* foreign_;
  std::size_t next_foreign_ = 0;
  bool issued_ = false;
};

}  // namespace berth::runtime::cuda
