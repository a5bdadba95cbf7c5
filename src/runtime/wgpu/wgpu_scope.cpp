// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_scope.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "berth/error.hpp"

namespace berth::runtime::wgpu {

namespace {

constexpr std::chrono::seconds kPopTimeout{10};

struct PopResult {
  std::atomic<bool> here{false};
  WGPUPopErrorScopeStatus status = WGPUPopErrorScopeStatus_Success;
  WGPUErrorType type = WGPUErrorType_NoError;
  std::string message;
};

void on_popped(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
               void* result, void* /*unused*/) {
  auto* out = static_cast<PopResult*>(result);
  out->status = status;
  out->type = type;
  if (type != WGPUErrorType_NoError || status != WGPUPopErrorScopeStatus_Success) {
    out->message = text_of(message);
  }
  out->here.store(true, std::memory_order_release);
}

}  // namespace

ErrorScopes::ErrorScopes(Device& device) : device_(device), lock_(device.scope_mutex()) {
  // wgpu-native 29 ends the process at an Internal scope ("invalid error filter").
  if (device.api().kind != LibraryKind::wgpu_native) {
    device.api().DevicePushErrorScope(device.device(), WGPUErrorFilter_Internal);
    ++open_;
  }
  device.api().DevicePushErrorScope(device.device(), WGPUErrorFilter_OutOfMemory);
  device.api().DevicePushErrorScope(device.device(), WGPUErrorFilter_Validation);
  open_ += 2;
}

ErrorScopes::~ErrorScopes() {
  while (open_ > 0) {
    try {
      static_cast<void>(pop());
    } catch (...) {
      open_ = 0;  // nobody to tell: whoever made the scopes is failing already
    }
  }
}

std::optional<ScopeError> ErrorScopes::pop() {
  --open_;
  // The callback fires inside the call on every library known, so one result per thread serves all;
  // a library that never answers keeps it.
  static thread_local std::unique_ptr<PopResult> result;
  if (!result) result = std::make_unique<PopResult>();
  result->here.store(false, std::memory_order_relaxed);
  WGPUPopErrorScopeCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.callback = &on_popped;
  info.userdata1 = result.get();
  device_.api().DevicePopErrorScope(device_.device(), info);
  const auto deadline = std::chrono::steady_clock::now() + kPopTimeout;
  while (!result->here.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() > deadline) {
      // NOLINTNEXTLINE(bugprone-unused-return-value): the callback may still write to it
      static_cast<void>(result.release());
      return ScopeError{WGPUErrorType_Unknown,
                        "The device did not answer for its error scope within 10 s."};
    }
    if (device_.pumps()) device_.pump();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const bool popped = result->status == WGPUPopErrorScopeStatus_Success;
  if (popped && result->type == WGPUErrorType_NoError) return std::nullopt;
  ScopeError error{popped ? result->type : WGPUErrorType_Unknown, std::move(result->message)};
  device_.events().look_for_loss(error.message);
  return error;
}

std::optional<ScopeError> ErrorScopes::close() {
  std::optional<ScopeError> first;
  while (open_ > 0) {
    std::optional<ScopeError> error = pop();
    if (error && !first) first = std::move(error);
  }
  lock_.unlock();
  return first;
}

}  // namespace berth::runtime::wgpu
