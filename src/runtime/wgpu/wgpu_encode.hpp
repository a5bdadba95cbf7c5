// SPDX-License-Identifier: Apache-2.0
//
// Turns the steps of a bound program into one command encoder. Passes open lazily; copies, fills,
// uploads and readbacks lie outside of them. The command buffer is handed out only if its finish
// passed inside an error scope; else the culprit is sought by encoding each step alone. Submits
// nothing. An encoding belongs to one thread at a time; several may be under way.
#pragma once

#include <webgpu/webgpu.h>

#include <memory>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/wgpu/wgpu_device.hpp"
#include "runtime/wgpu/wgpu_prepared.hpp"

namespace berth::runtime::wgpu {

/// What a submission adds to its bound program, resolved.
struct EncodeInputs {
  std::span<const Grid> grids;
  Bytes uniform_base = 0;
  std::vector<std::shared_ptr<const BindGroup>> uniform_groups;  ///< by BoundProgram::uniform_sizes
  struct Staging {
    WGPUBuffer buffer = nullptr;
    Bytes offset = 0;
  };
  std::vector<Staging> uploads;
  std::vector<Staging> readbacks;
};

/// Commands on their way. Dropped unsubmitted, it leaves nothing behind.
class WgpuEncoded final : public Encoded {
 public:
  /// Encodes all steps.
  WgpuEncoded(std::shared_ptr<Device> device, std::shared_ptr<const BoundProgram> bound,
              const Submission& submission, EncodeInputs inputs);
  WgpuEncoded(const WgpuEncoded&) = delete;
  WgpuEncoded& operator=(const WgpuEncoded&) = delete;
  ~WgpuEncoded() override;

  [[nodiscard]] const BoundProgram& bound() const { return *bound_; }
  [[nodiscard]] const Submission& submission() const { return submission_; }

  /// Finishes, once; the caller releases the command buffer.
  /// Errors: Error(device) naming the task that the device refuses; DeviceLost.
  [[nodiscard]] WGPUCommandBuffer finish();

 private:
  [[noreturn]] void throw_refused(const std::string& message) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<const BoundProgram> bound_;
  Submission submission_;  // its spans stay until we are submitted or dropped
  EncodeInputs inputs_;
  WGPUCommandEncoder encoder_;
};

}  // namespace berth::runtime::wgpu
