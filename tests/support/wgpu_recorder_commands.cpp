// SPDX-License-Identifier: Apache-2.0
//
// The wrappers of commands, submissions and error scopes. As in wgpu_recorder_objects.cpp, the
// mutex is never held while a real function runs.
#include <memory>
#include <span>
#include <string_view>

#include "support/wgpu_recorder_state.hpp"

namespace berth::test::recorder {

namespace {

ErrorFilter filter_of(WGPUErrorFilter filter) {
  switch (filter) {
    case WGPUErrorFilter_OutOfMemory:
      return ErrorFilter::out_of_memory;
    case WGPUErrorFilter_Internal:
      return ErrorFilter::internal;
    default:
      return ErrorFilter::validation;
  }
}

// Encoders and passes.

WGPUCommandEncoder DeviceCreateCommandEncoder(WGPUDevice device,
                                              const WGPUCommandEncoderDescriptor* d) {
  State& s = active();
  const ObjectId device_id = s.device_of(device);
  WGPUCommandEncoder encoder = s.real.DeviceCreateCommandEncoder(device, d);
  const std::lock_guard lock(s.mutex);
  ++s.counts.encoders;
  s.note(EncoderMade{s.encoders.make(encoder), device_id,
                     d != nullptr ? text_of(d->label) : std::string()});
  return encoder;
}

WGPUComputePassEncoder CommandEncoderBeginComputePass(WGPUCommandEncoder encoder,
                                                      const WGPUComputePassDescriptor* d) {
  State& s = active();
  const ObjectId encoder_id = s.encoder_of(encoder);
  WGPUComputePassEncoder pass = s.real.CommandEncoderBeginComputePass(encoder, d);
  const std::lock_guard lock(s.mutex);
  ++s.counts.passes;
  s.note(
      PassBegun{s.passes.make(pass), encoder_id, d != nullptr ? text_of(d->label) : std::string()});
  return pass;
}

void ComputePassEncoderSetPipeline(WGPUComputePassEncoder pass, WGPUComputePipeline pipeline) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    s.note(PipelineSet{s.passes.find(pass), s.pipelines.find(pipeline)});
  }
  s.real.ComputePassEncoderSetPipeline(pass, pipeline);
}

void ComputePassEncoderSetBindGroup(WGPUComputePassEncoder pass, std::uint32_t index,
                                    WGPUBindGroup group, std::size_t count,
                                    const std::uint32_t* offsets) {
  State& s = active();
  {
    const std::span given(offsets, count);
    const std::lock_guard lock(s.mutex);
    s.note(
        GroupSet{s.passes.find(pass), index, s.groups.find(group), {given.begin(), given.end()}});
  }
  s.real.ComputePassEncoderSetBindGroup(pass, index, group, count, offsets);
}

void ComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder pass, std::uint32_t x,
                                          std::uint32_t y, std::uint32_t z) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.dispatches;
    s.note(Dispatched{s.passes.find(pass), x, y, z});
  }
  s.real.ComputePassEncoderDispatchWorkgroups(pass, x, y, z);
}

void ComputePassEncoderDispatchWorkgroupsIndirect(WGPUComputePassEncoder pass, WGPUBuffer buffer,
                                                  std::uint64_t offset) {
  State& s = active();
  const ObjectId id = s.buffer_of(buffer);
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.dispatches;
    ++s.counts.indirect;
    s.note(DispatchedIndirect{s.passes.find(pass), id, offset});
  }
  s.real.ComputePassEncoderDispatchWorkgroupsIndirect(pass, buffer, offset);
}

void ComputePassEncoderEnd(WGPUComputePassEncoder pass) {
  State& s = active();
  {
    const std::lock_guard lock(s.mutex);
    s.note(PassEnded{s.passes.find(pass)});
  }
  s.real.ComputePassEncoderEnd(pass);
}

// Commands outside of passes.

void CommandEncoderCopyBufferToBuffer(WGPUCommandEncoder encoder, WGPUBuffer source,
                                      std::uint64_t source_offset, WGPUBuffer target,
                                      std::uint64_t target_offset, std::uint64_t size) {
  State& s = active();
  const Copied copy{s.encoder_of(encoder), s.buffer_of(source), source_offset,
                    s.buffer_of(target),   target_offset,       size};
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.copies;
    s.note(copy);
  }
  s.real.CommandEncoderCopyBufferToBuffer(encoder, source, source_offset, target, target_offset,
                                          size);
}

// Precondition: the mutex is held.
std::uint64_t resolved(State& s, WGPUBuffer buffer, std::uint64_t offset, std::uint64_t size) {
  if (size != WGPU_WHOLE_SIZE) return size;
  const auto found = s.live_buffers.find(buffer);
  const bool inside = found != s.live_buffers.end() && offset <= found->second.size;
  return inside ? found->second.size - offset : kUnknownSize;
}

void CommandEncoderClearBuffer(WGPUCommandEncoder encoder, WGPUBuffer buffer, std::uint64_t offset,
                               std::uint64_t size) {
  State& s = active();
  const ObjectId encoder_id = s.encoder_of(encoder);
  const ObjectId id = s.buffer_of(buffer);
  {
    const std::lock_guard lock(s.mutex);
    ++s.counts.clears;
    s.note(Cleared{encoder_id, id, offset, resolved(s, buffer, offset, size)});
  }
  s.real.CommandEncoderClearBuffer(encoder, buffer, offset, size);
}

void CommandEncoderResolveQuerySet(WGPUCommandEncoder encoder, WGPUQuerySet set,
                                   std::uint32_t first, std::uint32_t count, WGPUBuffer buffer,
                                   std::uint64_t offset) {
  State& s = active();
  const ObjectId encoder_id = s.encoder_of(encoder);
  const ObjectId id = s.buffer_of(buffer);
  {
    constexpr std::uint64_t kBytesOfQuery = 8;
    const std::lock_guard lock(s.mutex);
    s.note(Resolved{encoder_id, id, offset, count * kBytesOfQuery});
  }
  s.real.CommandEncoderResolveQuerySet(encoder, set, first, count, buffer, offset);
}

WGPUCommandBuffer CommandEncoderFinish(WGPUCommandEncoder encoder,
                                       const WGPUCommandBufferDescriptor* d) {
  State& s = active();
  const ObjectId encoder_id = s.encoder_of(encoder);
  WGPUCommandBuffer commands = s.real.CommandEncoderFinish(encoder, d);
  const std::lock_guard lock(s.mutex);
  s.note(Finished{encoder_id, s.commands.make(commands),
                  d != nullptr ? text_of(d->label) : std::string()});
  return commands;
}

void note_submit(State& s, std::size_t count, const WGPUCommandBuffer* commands) {
  const std::lock_guard lock(s.mutex);
  ++s.counts.submits;
  Submitted submitted;
  for (const WGPUCommandBuffer one : std::span(commands, count)) {
    submitted.commands.push_back(s.commands.find(one));
  }
  s.note(std::move(submitted));
}

void QueueSubmit(WGPUQueue queue, std::size_t count, const WGPUCommandBuffer* commands) {
  State& s = active();
  note_submit(s, count, commands);
  s.real.QueueSubmit(queue, count, commands);
}

WGPUSubmissionIndex QueueSubmitForIndex(WGPUQueue queue, std::size_t count,
                                        const WGPUCommandBuffer* commands) {
  State& s = active();
  note_submit(s, count, commands);
  return s.real.QueueSubmitForIndex(queue, count, commands);
}

// Error scopes.

void DevicePushErrorScope(WGPUDevice device, WGPUErrorFilter filter) {
  State& s = active();
  const ObjectId id = s.device_of(device);
  {
    const std::lock_guard lock(s.mutex);
    s.note(ScopePushed{id, filter_of(filter)});
  }
  s.real.DevicePushErrorScope(device, filter);
}

struct PopWrap {
  State* state;
  ObjectId answer;
  WGPUPopErrorScopeCallbackInfo info;
};

void on_pop(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* user,
            void* /*unused*/) {
  const std::unique_ptr<PopWrap> wrap(static_cast<PopWrap*>(user));
  {
    State& s = *wrap->state;
    std::string error;
    if (status != WGPUPopErrorScopeStatus_Success || type != WGPUErrorType_NoError) {
      error = text_of(message);
      if (error.empty()) error = "an error without a message";
    }
    const std::lock_guard lock(s.mutex);
    if (!error.empty()) ++s.counts.errors;
    s.note(ScopeAnswered{wrap->answer, std::move(error)});
  }
  if (wrap->info.callback != nullptr) {
    wrap->info.callback(status, type, message, wrap->info.userdata1, wrap->info.userdata2);
  }
}

WGPUFuture DevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info) {
  State& s = active();
  const ObjectId id = s.device_of(device);
  auto wrap = std::make_unique<PopWrap>(PopWrap{&s, 0, info});
  {
    const std::lock_guard lock(s.mutex);
    wrap->answer = s.answers.fresh();
    s.note(ScopePopped{id, wrap->answer});
  }
  info.callback = &on_pop;
  info.userdata1 = wrap.release();
  info.userdata2 = nullptr;
  return s.real.DevicePopErrorScope(device, info);
}

}  // namespace

void* command_wrapper_of(std::string_view name) {
#define BERTH_WRAPPED(function) \
  if (name == "wgpu" #function) return reinterpret_cast<void*>(&(function));
  BERTH_WRAPPED(CommandEncoderBeginComputePass)
  BERTH_WRAPPED(CommandEncoderClearBuffer)
  BERTH_WRAPPED(CommandEncoderCopyBufferToBuffer)
  BERTH_WRAPPED(CommandEncoderFinish)
  BERTH_WRAPPED(CommandEncoderResolveQuerySet)
  BERTH_WRAPPED(ComputePassEncoderDispatchWorkgroups)
  BERTH_WRAPPED(ComputePassEncoderDispatchWorkgroupsIndirect)
  BERTH_WRAPPED(ComputePassEncoderEnd)
  BERTH_WRAPPED(ComputePassEncoderSetBindGroup)
  BERTH_WRAPPED(ComputePassEncoderSetPipeline)
  BERTH_WRAPPED(DeviceCreateCommandEncoder)
  BERTH_WRAPPED(DevicePopErrorScope)
  BERTH_WRAPPED(DevicePushErrorScope)
  BERTH_WRAPPED(QueueSubmit)
  BERTH_WRAPPED(QueueSubmitForIndex)
#undef BERTH_WRAPPED
  return nullptr;
}

}  // namespace berth::test::recorder
