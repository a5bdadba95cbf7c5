// SPDX-License-Identifier: Apache-2.0
//
// A program bound to real pages: one flat step per command, with everything resolved that does not
// change between submissions, and checked by the usage tracker. Nothing is encoded here. Immutable
// once made.
#pragma once

#include <webgpu/webgpu.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/wgpu/wgpu_groups.hpp"
#include "runtime/wgpu/wgpu_kernels.hpp"
#include "runtime/wgpu/wgpu_pages.hpp"

namespace berth::runtime::wgpu {

/// A command, resolved.
struct Step {
  plan::CommandKind kind = plan::CommandKind::dispatch;
  bool pass_start = false;  ///< a new pass begins here if one is open
  bool has_uniforms = false;
  std::uint32_t uniform_size = 0;  ///< index into BoundProgram::uniform_sizes
  std::uint32_t grid = 0;          ///< Submission::grids
  std::uint32_t slot = 0;          ///< Submission::uploads, readbacks
  std::uint32_t label = 0;
  WGPUComputePipeline pipeline = nullptr;
  WGPUBindGroup group = nullptr;
  Bytes uniform_offset = 0;
  WGPUBuffer a =
      nullptr;  ///< copy: source; fill, upload: target; readback: source; indirect: counts
  Bytes offset_a = 0;
  WGPUBuffer b = nullptr;  ///< copy: target
  Bytes offset_b = 0;
  Bytes bytes = 0;
};

struct BoundProgram {
  std::shared_ptr<const plan::Program> program;
  std::vector<memory::PageHandle> pages;
  std::vector<Step> steps;
  std::vector<Bytes> uniform_sizes;  ///< distinct sizes of uniform blocks
  std::vector<std::shared_ptr<const BindGroup>> groups;
  std::uint32_t groups_made = 0;

  [[nodiscard]] const std::string& label_of(const Step& step) const {
    return program->labels[step.label];
  }
};

class WgpuPrepared final : public Prepared {
 public:
  explicit WgpuPrepared(std::shared_ptr<const BoundProgram> bound) : bound_(std::move(bound)) {}
  [[nodiscard]] std::uint32_t bind_groups_made() const override { return bound_->groups_made; }
  [[nodiscard]] const std::shared_ptr<const BoundProgram>& bound() const { return bound_; }

 private:
  std::shared_ptr<const BoundProgram> bound_;  // shared with what is encoded from it
};

/// Resolves and checks a program.
/// Errors: Error(internal) for a program that breaks the rule or does not fit its pages;
///   Error(kernel); Error(device) naming the task whose bind group is refused; Unsupported for
///   batches and foreign tasks.
[[nodiscard]] std::shared_ptr<const BoundProgram> bind_program(
    Device& device, const Pages& pages, Kernels& kernels, BindGroups& groups,
    std::shared_ptr<const plan::Program> program, std::span<const memory::PageHandle> handles);

}  // namespace berth::runtime::wgpu
