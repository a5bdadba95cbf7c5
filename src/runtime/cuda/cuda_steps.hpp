// SPDX-License-Identifier: Apache-2.0
//
// What a bound program consists of, and what one submission adds to it: plain data that the stream
// runner and the graph read.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/program.hpp"
#include "runtime/backend.hpp"

namespace berth::runtime::cuda {

/// A command, resolved.
struct Step {
  plan::CommandKind kind = plan::CommandKind::dispatch;
  bool has_uniforms = false;
  std::uint32_t grid = 0;  ///< Submission::grids
  std::uint32_t slot = 0;  ///< uploads, readbacks, foreign
  std::uint32_t label = 0;
  std::uint32_t first_argument = 0;  ///< BoundProgram::arguments
  std::uint32_t arguments = 0;       ///< without the uniform block
  CUfunction function = nullptr;
  WorkgroupSize workgroup;
  Bytes uniform_offset = 0;
  CUdeviceptr a = 0;  ///< copy: source; fill, upload: target; readback: source; indirect: counts
  CUdeviceptr b = 0;  ///< copy: target
  Bytes bytes = 0;
};

struct BoundProgram {
  std::shared_ptr<const plan::Program> program;
  std::vector<memory::PageHandle> pages;
  std::vector<Step> steps;
  std::vector<CUdeviceptr> arguments;
  /// Foreign views of all foreign steps, in order; step.first_argument and arguments count them.
  std::vector<ForeignView> views;
  /// It has a step that a graph cannot hold (indirect: the host must learn the counts; foreign: it
  /// is other work each time), so it always goes to the stream.
  bool stream_only = false;

  [[nodiscard]] const std::string& label_of(const Step& step) const {
    return program->labels[step.label];
  }
  /// "a submission of 12 tasks ("first" to "last")", for errors.
  std::string name;
};

/// One submission, with its staging as addresses.
struct RunInputs {
  CUdeviceptr uniforms = 0;  ///< where the uniform bytes lie on the device
  std::span<const Grid> grids;
  std::vector<std::byte*> uploads;
  std::vector<std::byte*> readbacks;
};

/// The parameters of a launch, as the driver takes them: pointers to the arguments.
class LaunchParameters {
 public:
  LaunchParameters(const BoundProgram& bound, const Step& step, CUdeviceptr uniforms);
  LaunchParameters(const LaunchParameters&) = delete;
  LaunchParameters& operator=(const LaunchParameters&) = delete;
  [[nodiscard]] void** data() { return pointers_; }

 private:
  CUdeviceptr uniforms_;
  void* pointers_[65];  // kMostBindings and the uniform block
};

}  // namespace berth::runtime::cuda
