// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_device.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_adapter.hpp"
#include "runtime/wgpu/wgpu_limits.hpp"

namespace berth::runtime::wgpu {

namespace {

constexpr std::chrono::seconds kDeviceTimeout{60};

// Source: Dawn, dawn.json, "implicit device synchronization" (Dawn's own numbers begin at 0x50000).
constexpr auto kDawnImplicitDeviceSynchronization = static_cast<WGPUFeatureName>(0x00050004);

// wgpu-native makes an instance of every backend it is not told to leave out, OpenGL included,
// which costs start-up time and prints. Other libraries get no descriptor: theirs has another
// layout.
WGPUInstance make_instance(const Table& api, WGPUBackendType backend) {
  if (api.kind != LibraryKind::wgpu_native) return api.CreateInstance(nullptr);
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.flags = WGPUInstanceFlag_Default;
  const bool gl = backend == WGPUBackendType_OpenGL || backend == WGPUBackendType_OpenGLES;
  extras.backends = gl ? WGPUInstanceBackend_GL : WGPUInstanceBackend_Primary;
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &extras.chain;
  return api.CreateInstance(&descriptor);
}

struct DeviceAnswer {
  std::atomic<bool> here{false};
  WGPUDevice device = nullptr;
  std::string message;
};

}  // namespace

Device::Device(const ConnectOptions& options)
    : events_(new Events), pumps_(options.events == berth::Events::pumped) {
  try {
    library_ = load_library(options.webgpu);
    if (options.webgpu.device != nullptr || options.webgpu.queue != nullptr ||
        options.webgpu.instance != nullptr || options.webgpu.adapter != nullptr) {
      adopt(options);
    } else {
      make(options);
    }
    describe(options);
  } catch (...) {
    release();
    throw;
  }
}

Device::~Device() { release(); }

void Device::release() noexcept {
  if (!adopted_) {
    if (queue_ != nullptr) api().QueueRelease(queue_);
    if (device_ != nullptr) api().DeviceRelease(device_);
    if (adapter_ != nullptr) api().AdapterRelease(adapter_);
    if (instance_ != nullptr) api().InstanceRelease(instance_);
  }
  events_->release();
}

void Device::pump() const {
  // wgpu-native's poll looks at our device alone, ProcessEvents at all of the instance. Without
  // waiting: the waiting one holds a lock that blocks submit from other threads.
  if (api().DevicePoll != nullptr) {
    api().DevicePoll(device_, WGPU_FALSE, nullptr);
  } else {
    api().InstanceProcessEvents(instance_);
  }
}

void Device::check_alive() const {
  if (events_->is_lost()) throw_lost();
}

void Device::throw_lost() const {
  const std::string why = events_->lost_reason();
  throw DeviceLost(text("The device \"", capabilities_.adapter, "\" is lost",
                        why.empty() ? std::string(".") : text(": ", why)));
}

void Device::adopt(const ConnectOptions& options) {
  const WebGpuOptions& given = options.webgpu;
  if (given.instance == nullptr || given.device == nullptr || given.queue == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "To adopt a WebGPU device, ConnectOptions::webgpu must give instance, device and "
                "queue together; one of them is missing.");
  }
  if (given.get_proc == nullptr && given.library.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "To adopt a WebGPU device, ConnectOptions::webgpu must also give get_proc, or the "
                "library the device was made with: the default search might find another one.");
  }
  adopted_ = true;
  instance_ = static_cast<WGPUInstance>(given.instance);
  adapter_ = static_cast<WGPUAdapter>(given.adapter);
  device_ = static_cast<WGPUDevice>(given.device);
  queue_ = static_cast<WGPUQueue>(given.queue);
}

void Device::make(const ConnectOptions& options) {
  const WGPUBackendType backend = backend_named(options.webgpu.backend);
  instance_ = make_instance(api(), backend);
  if (instance_ == nullptr) {
    throw Error(ErrorCode::unavailable,
                text(library_.name, " (", library_.path, ") makes no instance."));
  }
  adapter_ = choose_adapter_of(api(), instance_, options.webgpu);
  request_device(options);
  queue_ = api().DeviceGetQueue(device_);
}

void Device::request_device(const ConnectOptions& options) {
  const WGPULimits limits = limits_to_request(adapter_limits(api(), adapter_), options.limits);
  std::vector<WGPUFeatureName> features;
  for (const WGPUFeatureName feature :
       {WGPUFeatureName_ShaderF16, WGPUFeatureName_TimestampQuery}) {
    if (api().AdapterHasFeature(adapter_, feature) != WGPU_FALSE) features.push_back(feature);
  }

  // Dawn locks nothing without this; a host that gives us his own Dawn device sees to it himself.
  if (api().kind == LibraryKind::dawn &&
      api().AdapterHasFeature(adapter_, kDawnImplicitDeviceSynchronization) != WGPU_FALSE) {
    features.push_back(kDawnImplicitDeviceSynchronization);
  }

  WGPUDeviceDescriptor descriptor{};
  descriptor.label = view("berth");
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();
  descriptor.requiredLimits = &limits;
  // Dawn calls this one at the latest when the device goes, which may be after us: it owns a share
  // of the block. wgpu-native forgets it with the device, and would never give the share back.
  const bool counted = api().kind != LibraryKind::wgpu_native;
  if (counted) events_->retain();
  descriptor.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous,
                                       &Events::on_device_lost, events_,
                                       counted ? events_ : nullptr};
  descriptor.uncapturedErrorCallbackInfo = {nullptr, &Events::on_uncaptured_error, events_,
                                            nullptr};

  // Shared with the callback, which may come after we gave up waiting.
  auto answer = std::make_shared<DeviceAnswer>();
  auto* hers = new std::shared_ptr<DeviceAnswer>(answer);
  WGPURequestDeviceCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.userdata1 = hers;
  info.callback = [](WGPURequestDeviceStatus /*status*/, WGPUDevice device, WGPUStringView message,
                     void* shared, void*) {
    const std::unique_ptr<std::shared_ptr<DeviceAnswer>> owned(
        static_cast<std::shared_ptr<DeviceAnswer>*>(shared));
    (*owned)->device = device;
    (*owned)->message = text_of(message);
    (*owned)->here.store(true, std::memory_order_release);
  };
  api().AdapterRequestDevice(adapter_, &descriptor, info);
  const auto deadline = std::chrono::steady_clock::now() + kDeviceTimeout;
  while (!answer->here.load(std::memory_order_acquire) &&
         std::chrono::steady_clock::now() < deadline) {
    api().InstanceProcessEvents(instance_);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  device_ = answer->device;
  if (device_ == nullptr) {
    throw Error(ErrorCode::unavailable,
                text(library_.name, " makes no device on the adapter \"",
                     adapter_facts(api(), adapter_).name, "\": ",
                     answer->message.empty() ? "it gives no reason." : one_line(answer->message)));
  }
}

void Device::describe(const ConnectOptions& options) {
  Capabilities& c = capabilities_;
  c.runtime = "wgpu";
  c.library = library_.name;
  c.target = Target::wgsl;
  c.exclusion = true;
  c.copy_within_page = false;
  c.growth = plan::Growth::replace;
  c.waiting = pumps_ ? Waiting::poll : Waiting::host_pumps;

  AdapterFacts adapter;
  if (adapter_ != nullptr) adapter = adapter_facts(api(), adapter_);
  if (adapter.name.empty()) adapter.name = "a device of the caller's";
  c.adapter = adapter.name;
  // Dawn and Metal order dispatches whatever the placement; wgpu-native on Vulkan does so per
  // buffer.
  c.overlap = api().kind == LibraryKind::wgpu_native && adapter.backend == WGPUBackendType_Vulkan
                  ? Overlap::by_page
                  : Overlap::none;

  const WGPULimits limits = device_limits(api(), device_);
  c.limits = lowered_limits(limits, options.limits);
  if (api().DeviceHasFeature(device_, WGPUFeatureName_ShaderF16) != WGPU_FALSE) {
    c.features.emplace_back("f16");
  }
  if (api().DeviceHasFeature(device_, WGPUFeatureName_TimestampQuery) != WGPU_FALSE) {
    c.features.emplace_back("timestamps");
  }

  c.facts = {
      {"library", library_.name},     {"library path", library_.path},
      {"adapter", adapter.name},      {"vendor", adapter.vendor},
      {"driver", adapter.driver},     {"backend", name_of_backend(adapter.backend)},
      {"adapter kind", adapter.kind}, {"device", adopted_ ? "the caller's" : "made by berth"}};
  add_limit_facts(c.limits, c.facts);
}

}  // namespace berth::runtime::wgpu
