// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_encode.hpp"

#include <optional>
#include <span>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_scope.hpp"

namespace berth::runtime::wgpu {

using plan::CommandKind;

namespace {

/// Writes steps to an encoder that it does not own; ends its pass when it goes.
class StepWriter {
 public:
  StepWriter(const Table& api, WGPUCommandEncoder encoder, const EncodeInputs& inputs)
      : api_(api), inputs_(inputs), encoder_(encoder) {}
  StepWriter(const StepWriter&) = delete;
  StepWriter& operator=(const StepWriter&) = delete;
  ~StepWriter() { end_pass(); }

  void write(const Step& step) {
    switch (step.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        return dispatch(step);
      case CommandKind::copy:
        return copy(step.a, step.offset_a, step.b, step.offset_b, step.bytes);
      case CommandKind::fill:
        end_pass();
        return api_.CommandEncoderClearBuffer(encoder_, step.a, step.offset_a, step.bytes);
      case CommandKind::upload: {
        const EncodeInputs::Staging& from = inputs_.uploads[step.slot];
        return copy(from.buffer, from.offset, step.a, step.offset_a, step.bytes);
      }
      case CommandKind::readback: {
        const EncodeInputs::Staging& to = inputs_.readbacks[step.slot];
        return copy(step.a, step.offset_a, to.buffer, to.offset, step.bytes);
      }
      case CommandKind::foreign:
        return;  // refused when the program was bound
    }
  }

 private:
  void copy(WGPUBuffer source, Bytes source_offset, WGPUBuffer target, Bytes target_offset,
            Bytes bytes) {
    end_pass();
    api_.CommandEncoderCopyBufferToBuffer(encoder_, source, source_offset, target, target_offset,
                                          bytes);
  }

  void dispatch(const Step& step) {
    const bool indirect = step.kind == CommandKind::indirect;
    const Grid grid = indirect ? Grid{} : inputs_.grids[step.grid];
    if (step.pass_start) end_pass();
    if (grid.empty()) return;
    if (pass_ == nullptr) begin_pass();
    if (step.pipeline != pipeline_) {
      pipeline_ = step.pipeline;
      api_.ComputePassEncoderSetPipeline(pass_, pipeline_);
    }
    if (step.group != group_) {
      group_ = step.group;
      api_.ComputePassEncoderSetBindGroup(pass_, 0, group_, 0, nullptr);
    }
    if (step.has_uniforms) set_uniforms(step);
    if (indirect) {
      api_.ComputePassEncoderDispatchWorkgroupsIndirect(pass_, step.a, step.offset_a);
    } else {
      api_.ComputePassEncoderDispatchWorkgroups(pass_, grid.x, grid.y, grid.z);
    }
  }

  void set_uniforms(const Step& step) {
    WGPUBindGroup group = inputs_.uniform_groups[step.uniform_size]->get();
    const auto offset = static_cast<std::uint32_t>(inputs_.uniform_base + step.uniform_offset);
    if (group == uniform_group_ && offset == uniform_offset_) return;
    uniform_group_ = group;
    uniform_offset_ = offset;
    api_.ComputePassEncoderSetBindGroup(pass_, 1, group, 1, &offset);
  }

  void begin_pass() {
    pass_ = api_.CommandEncoderBeginComputePass(encoder_, nullptr);
    pipeline_ = nullptr;
    group_ = nullptr;
    uniform_group_ = nullptr;
  }

  void end_pass() {
    if (pass_ == nullptr) return;
    api_.ComputePassEncoderEnd(pass_);
    api_.ComputePassEncoderRelease(pass_);
    pass_ = nullptr;
  }

  const Table& api_;
  const EncodeInputs& inputs_;
  WGPUCommandEncoder encoder_;
  WGPUComputePassEncoder pass_ = nullptr;
  WGPUComputePipeline pipeline_ = nullptr;  // what the pass has set
  WGPUBindGroup group_ = nullptr;
  WGPUBindGroup uniform_group_ = nullptr;
  std::uint32_t uniform_offset_ = 0;
};

/// The device's text if it refuses these steps alone.
std::optional<ScopeError> trial(Device& device, std::span<const Step> steps,
                                const EncodeInputs& inputs) {
  const Table& api = device.api();
  ErrorScopes scopes(device);
  WGPUCommandEncoder encoder = api.DeviceCreateCommandEncoder(device.device(), nullptr);
  {
    StepWriter writer(api, encoder, inputs);
    for (const Step& step : steps) writer.write(step);
  }
  WGPUCommandBuffer buffer = api.CommandEncoderFinish(encoder, nullptr);
  std::optional<ScopeError> error = scopes.close();
  if (buffer != nullptr) api.CommandBufferRelease(buffer);
  api.CommandEncoderRelease(encoder);
  return error;
}

}  // namespace

WgpuEncoded::WgpuEncoded(std::shared_ptr<Device> device, std::shared_ptr<const BoundProgram> bound,
                         const Submission& submission, EncodeInputs inputs)
    : device_(std::move(device)),
      bound_(std::move(bound)),
      submission_(submission),
      inputs_(std::move(inputs)),
      encoder_(device_->api().DeviceCreateCommandEncoder(device_->device(), nullptr)) {
  // No scope is open: what goes wrong here is reported at finish.
  StepWriter writer(device_->api(), encoder_, inputs_);
  for (const Step& step : bound_->steps) writer.write(step);
}

WgpuEncoded::~WgpuEncoded() { device_->api().CommandEncoderRelease(encoder_); }

WGPUCommandBuffer WgpuEncoded::finish() {
  ErrorScopes scopes(*device_);
  WGPUCommandBuffer buffer = device_->api().CommandEncoderFinish(encoder_, nullptr);
  const std::optional<ScopeError> error = scopes.close();
  if (!error && buffer != nullptr) return buffer;
  // wgpu-native hands out a buffer even so, and ends the process if it is submitted.
  if (buffer != nullptr) device_->api().CommandBufferRelease(buffer);
  throw_refused(error ? one_line(error->message) : "it gives no reason.");
}

void WgpuEncoded::throw_refused(const std::string& message) const {
  device_->check_alive();
  for (const Step& step : bound_->steps) {
    const auto alone = trial(*device_, {&step, 1}, inputs_);
    device_->check_alive();
    if (!alone) continue;
    throw Error(ErrorCode::device,
                text("The device refuses the task \"", bound_->label_of(step),
                     "\": ", one_line(alone->message), " Nothing was submitted."));
  }
  throw Error(ErrorCode::device, text("The device refuses a window of ", bound_->steps.size(),
                                      " tasks, though each of them alone passes: ", message,
                                      " Nothing was submitted."));
}

}  // namespace berth::runtime::wgpu
