// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_adapter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_events.hpp"

namespace berth::runtime::wgpu {

namespace {

constexpr std::chrono::seconds kAdapterTimeout{60};

constexpr std::array<std::pair<const char*, WGPUBackendType>, 8> kBackends{
    {{"null", WGPUBackendType_Null},
     {"webgpu", WGPUBackendType_WebGPU},
     {"d3d11", WGPUBackendType_D3D11},
     {"d3d12", WGPUBackendType_D3D12},
     {"metal", WGPUBackendType_Metal},
     {"vulkan", WGPUBackendType_Vulkan},
     {"opengl", WGPUBackendType_OpenGL},
     {"opengles", WGPUBackendType_OpenGLES}}};

std::string lower_case(std::string s) {
  std::ranges::transform(s, s.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool name_matches(const AdapterFacts& facts, const std::string& part) {
  return lower_case(facts.name).find(lower_case(part)) != std::string::npos;
}

/// Shared with the callback, which may come after we gave up waiting.
struct PendingAnswer {
  std::atomic<bool> here{false};
  WGPUAdapter adapter = nullptr;
  std::string message;
};
struct Answer {
  WGPUAdapter adapter = nullptr;
  std::string message;
};

Answer ask(const Table& api, WGPUInstance instance, const WGPURequestAdapterOptions& options) {
  const auto answer = std::make_shared<PendingAnswer>();
  WGPURequestAdapterCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.userdata1 = new std::shared_ptr<PendingAnswer>(answer);
  info.callback = [](WGPURequestAdapterStatus /*status*/, WGPUAdapter adapter,
                     WGPUStringView message, void* shared, void*) {
    const std::unique_ptr<std::shared_ptr<PendingAnswer>> owned(
        static_cast<std::shared_ptr<PendingAnswer>*>(shared));
    (*owned)->adapter = adapter;
    (*owned)->message = text_of(message);
    (*owned)->here.store(true, std::memory_order_release);
  };
  api.InstanceRequestAdapter(instance, &options, info);
  const auto deadline = std::chrono::steady_clock::now() + kAdapterTimeout;
  while (!answer->here.load(std::memory_order_acquire) &&
         std::chrono::steady_clock::now() < deadline) {
    api.InstanceProcessEvents(instance);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (!answer->here.load(std::memory_order_acquire)) return {nullptr, "no answer within 60 s"};
  return {answer->adapter, answer->message};
}

/// Every adapter that can be had: all of them where the library lists them, else the answers to the
/// different preferences.
std::vector<WGPUAdapter> candidates(const Table& api, WGPUInstance instance,
                                    WGPUBackendType backend) {
  std::vector<WGPUAdapter> found;
  if (api.InstanceEnumerateAdapters != nullptr) {
    found.resize(api.InstanceEnumerateAdapters(instance, nullptr, nullptr));
    if (!found.empty()) api.InstanceEnumerateAdapters(instance, nullptr, found.data());
    return found;
  }
  struct Preference {
    WGPUPowerPreference power;
    WGPUBool fallback;
  };
  for (const Preference p : {Preference{WGPUPowerPreference_HighPerformance, WGPU_FALSE},
                             Preference{WGPUPowerPreference_LowPower, WGPU_FALSE},
                             Preference{WGPUPowerPreference_Undefined, WGPU_TRUE}}) {
    WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    options.powerPreference = p.power;
    options.forceFallbackAdapter = p.fallback;
    options.backendType = backend;
    const Answer answer = ask(api, instance, options);
    if (answer.adapter != nullptr) found.push_back(answer.adapter);
  }
  return found;
}

WGPUAdapter choose_by_name(const Table& api, WGPUInstance instance, WGPUBackendType backend,
                           const std::string& part) {
  WGPUAdapter chosen = nullptr;
  std::string names;
  for (WGPUAdapter adapter : candidates(api, instance, backend)) {
    const AdapterFacts facts = adapter_facts(api, adapter);
    const bool right_backend = backend == WGPUBackendType_Undefined || facts.backend == backend;
    names += text(names.empty() ? "" : ", ", '"', facts.name, "\" (",
                  name_of_backend(facts.backend), ")");
    if (chosen == nullptr && right_backend && name_matches(facts, part)) {
      chosen = adapter;
    } else {
      api.AdapterRelease(adapter);
    }
  }
  if (chosen == nullptr) {
    throw Error(ErrorCode::unavailable,
                text("No adapter's name contains \"", part, "\"; there ",
                     names.empty() ? std::string("is none at all.") : text("is: ", names, ".")));
  }
  return chosen;
}

}  // namespace

WGPUBackendType backend_named(const std::string& name) {
  if (name.empty()) return WGPUBackendType_Undefined;
  std::string known;
  for (const auto& [its_name, backend] : kBackends) {
    if (name == its_name) return backend;
    known += text(known.empty() ? "" : ", ", its_name);
  }
  throw Error(ErrorCode::invalid_argument,
              text("There is no WebGPU backend \"", name, "\"; known are ", known, "."));
}

const char* name_of_backend(WGPUBackendType backend) {
  for (const auto& [name, its_backend] : kBackends) {
    if (backend == its_backend) return name;
  }
  return "unknown";
}

AdapterFacts adapter_facts(const Table& api, WGPUAdapter adapter) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  AdapterFacts facts;
  if (api.AdapterGetInfo(adapter, &info) != WGPUStatus_Success) return facts;
  facts.name = text_of(info.device);
  facts.vendor = text_of(info.vendor);
  facts.driver = text_of(info.description);
  if (facts.name.empty()) facts.name = facts.driver;
  facts.backend = info.backendType;
  switch (info.adapterType) {
    case WGPUAdapterType_DiscreteGPU:
      facts.kind = "discrete GPU";
      break;
    case WGPUAdapterType_IntegratedGPU:
      facts.kind = "integrated GPU";
      break;
    case WGPUAdapterType_CPU:
      facts.kind = "CPU";
      break;
    default:
      facts.kind = "unknown";
  }
  api.AdapterInfoFreeMembers(info);
  return facts;
}

WGPUAdapter choose_adapter_of(const Table& api, WGPUInstance instance,
                              const WebGpuOptions& options) {
  const WGPUBackendType backend = backend_named(options.backend);
  if (!options.adapter_name.empty()) {
    return choose_by_name(api, instance, backend, options.adapter_name);
  }
  WGPURequestAdapterOptions wish = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
  wish.powerPreference = WGPUPowerPreference_HighPerformance;
  wish.backendType = backend;
  const Answer answer = ask(api, instance, wish);
  if (answer.adapter == nullptr) {
    throw Error(
        ErrorCode::unavailable,
        text("There is no ", options.backend.empty() ? "WebGPU" : options.backend.c_str(),
             " adapter (", answer.message.empty() ? "no reason given." : one_line(answer.message),
             ") Install a Vulkan driver, or Debian's mesa-vulkan-drivers for one that "
             "runs on the CPU."));
  }
  if (backend != WGPUBackendType_Null &&
      adapter_facts(api, answer.adapter).backend == WGPUBackendType_Null) {
    api.AdapterRelease(answer.adapter);
    throw Error(ErrorCode::unavailable,
                "The only adapter is a Null backend, which checks commands but computes nothing: "
                "install a Vulkan driver, or ask for the backend \"null\" by name.");
  }
  return answer.adapter;
}

}  // namespace berth::runtime::wgpu
