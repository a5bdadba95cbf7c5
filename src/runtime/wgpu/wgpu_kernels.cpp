// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_kernels.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_scope.hpp"

namespace berth::runtime::wgpu {

namespace {

/// Bindings as the form of the code sees them: an in-place form leaves its inputs out, and its
/// outputs are read as well; a promoted one has everything read_write.
std::vector<LayoutBinding> bindings_of(const KernelSignature& signature, const KernelCode& code) {
  std::vector<LayoutBinding> bindings;
  for (std::uint32_t i = 0; i < signature.bindings.size(); ++i) {
    const BindingSignature& binding = signature.bindings[i];
    bool left_out = false;
    if (code.variant == Variant::in_place) {
      for (std::size_t pair = 0; pair < signature.in_place.size(); ++pair) {
        const bool taken = ((code.in_place_pairs >> pair) & 1U) != 0;
        left_out = left_out || (taken && signature.in_place[pair].input == binding.name);
      }
    }
    if (left_out) continue;
    bindings.push_back({i, code.variant == Variant::promoted || writes(binding.access)});
  }
  return bindings;
}

void release_layout(const Table& api, const GroupLayout& layout) {
  if (layout.without_uniforms != nullptr) api.PipelineLayoutRelease(layout.without_uniforms);
  if (layout.with_uniforms != nullptr) api.PipelineLayoutRelease(layout.with_uniforms);
  if (layout.group != nullptr) api.BindGroupLayoutRelease(layout.group);
}

const char* suffix_of(Variant variant) {
  switch (variant) {
    case Variant::plain:
      return "";
    case Variant::in_place:
      return " (in place)";
    case Variant::promoted:
      return " (promoted)";
    case Variant::batched:
      return " (batched)";
  }
  return "";
}

[[noreturn]] void throw_compile_error(const Kernel& kernel, const KernelCode& code,
                                      const ScopeError& error) {
  const std::uint32_t line = line_in(error.message);
  throw Error(
      ErrorCode::kernel,
      text("The kernel \"", kernel.name(), "\"", suffix_of(code.variant), " does not compile",
           line != 0 ? text(" at line ", line) : std::string(), ": ", one_line(error.message)));
}

}  // namespace

std::uint32_t line_in(std::string_view s) {
  const auto number_at = [&](std::size_t from) -> std::uint32_t {
    std::uint32_t line = 0;
    const auto [end, problem] = std::from_chars(s.data() + from, s.data() + s.size(), line);
    const bool colon = problem == std::errc() && end != s.data() + s.size() && *end == ':';
    return colon ? line : 0;
  };
  if (const std::size_t at = s.find("wgsl:"); at != std::string_view::npos) {
    if (const std::uint32_t line = number_at(at + 5); line != 0) return line;
  }
  for (std::size_t at = s.find(':'); at != std::string_view::npos; at = s.find(':', at + 1)) {
    if (at > 0 && std::isspace(static_cast<unsigned char>(s[at - 1])) == 0) continue;
    if (const std::uint32_t line = number_at(at + 1); line != 0) return line;
  }
  return 0;
}

std::size_t Kernels::KeyHash::operator()(const Key& key) const noexcept {
  return std::hash<std::uint64_t>{}(key.kernel * 0x9E3779B97F4A7C15ULL +
                                    (std::uint64_t{key.pairs} << 8U) +
                                    static_cast<std::uint64_t>(key.variant));
}

Kernels::Kernels(std::shared_ptr<Device> device) : device_(std::move(device)) {
  WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
  entry.visibility = WGPUShaderStage_Compute;
  entry.buffer.type = WGPUBufferBindingType_Uniform;
  entry.buffer.hasDynamicOffset = WGPU_TRUE;
  WGPUBindGroupLayoutDescriptor group{};
  group.entryCount = 1;
  group.entries = &entry;
  ErrorScopes scopes(*device_);
  uniform_layout_ = device_->api().DeviceCreateBindGroupLayout(device_->device(), &group);
  if (const auto error = scopes.close()) {
    throw Error(ErrorCode::unavailable,
                text("The device makes no layout for uniforms: ", one_line(error->message)));
  }
}

Kernels::~Kernels() {
  const Table& api = device_->api();
  for (auto& [key, kernel] : kernels_) api.ComputePipelineRelease(kernel.pipeline);
  for (auto& [bindings, layout] : layouts_) release_layout(api, *layout);
  if (uniform_layout_ != nullptr) api.BindGroupLayoutRelease(uniform_layout_);
}

bool Kernels::compiled(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) const {
  const std::lock_guard lock(mutex_);
  return kernels_.contains({kernel.id(), variant, in_place_pairs});
}

const CompiledKernel& Kernels::get(const Kernel& kernel, Variant variant,
                                   std::uint32_t in_place_pairs) {
  const Key key{kernel.id(), variant, in_place_pairs};
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  device_->check_alive();
  if (variant == Variant::batched) {
    throw Unsupported(
        text("The wgpu runtime runs no batched kernels yet (kernel \"", kernel.name(), "\")."));
  }
  const KernelCode* code = kernel.code(Target::wgsl, variant, in_place_pairs);
  if (code == nullptr) {
    throw Error(ErrorCode::kernel, text("The kernel \"", kernel.name(), "\"", suffix_of(variant),
                                        " has no WGSL code, which the wgpu runtime needs."));
  }
  for (const std::string& feature : kernel.signature().requires_features) {
    const auto& has = device_->capabilities().features;
    if (std::ranges::find(has, feature) != has.end()) continue;
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\" requires the feature \"", feature,
                     "\", which the device \"", device_->capabilities().adapter, "\" lacks."));
  }
  return kernels_.emplace(key, compile(kernel, *code)).first->second;
}

CompiledKernel Kernels::compile(const Kernel& kernel, const KernelCode& code) {
  CompiledKernel compiled;
  const GroupLayout& layout = layout_for(bindings_of(kernel.signature(), code));
  compiled.layout = &layout;
  compiled.has_uniforms = !kernel.signature().uniforms.empty();
  compiled.pipeline = make_pipeline(
      kernel, code, compiled.has_uniforms ? layout.with_uniforms : layout.without_uniforms);
  return compiled;
}

WGPUComputePipeline Kernels::make_pipeline(const Kernel& kernel, const KernelCode& code,
                                           WGPUPipelineLayout layout) {
  const Table& api = device_->api();
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = view(code.source);
  WGPUShaderModuleDescriptor module_descriptor{};
  module_descriptor.nextInChain = &source.chain;
  module_descriptor.label = view(kernel.name());

  ErrorScopes module_scopes(*device_);
  // The loop guard of wgpu-native costs up to ten times the kernel's own time; bounds checks stay.
  WGPUShaderModule module =
      code.loops_end && api.DeviceCreateShaderModuleTrusted != nullptr
          ? api.DeviceCreateShaderModuleTrusted(device_->device(), &module_descriptor,
                                                WGPUShaderRuntimeChecks_BoundsChecks)
          : api.DeviceCreateShaderModule(device_->device(), &module_descriptor);
  if (const auto error = module_scopes.close(); error || module == nullptr) {
    if (module != nullptr) api.ShaderModuleRelease(module);
    device_->check_alive();
    throw_compile_error(kernel, code, error.value_or(ScopeError{}));
  }

  WGPUComputePipelineDescriptor descriptor{};
  descriptor.label = view(kernel.name());
  descriptor.layout = layout;
  descriptor.compute.module = module;
  descriptor.compute.entryPoint = view(code.entry);
  ErrorScopes pipeline_scopes(*device_);
  WGPUComputePipeline pipeline = api.DeviceCreateComputePipeline(device_->device(), &descriptor);
  const std::optional<ScopeError> error = pipeline_scopes.close();
  api.ShaderModuleRelease(module);
  if (error || pipeline == nullptr) {
    if (pipeline != nullptr) api.ComputePipelineRelease(pipeline);
    device_->check_alive();
    throw_compile_error(kernel, code, error.value_or(ScopeError{}));
  }
  return pipeline;
}

const GroupLayout& Kernels::layout_for(std::vector<LayoutBinding> bindings) {
  if (const auto found = layouts_.find(bindings); found != layouts_.end()) return *found->second;
  const Table& api = device_->api();

  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (const LayoutBinding& binding : bindings) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = binding.number;
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type =
        binding.writable ? WGPUBufferBindingType_Storage : WGPUBufferBindingType_ReadOnlyStorage;
    entries.push_back(entry);
  }
  WGPUBindGroupLayoutDescriptor group{};
  group.entryCount = entries.size();
  group.entries = entries.data();

  auto layout = std::make_unique<GroupLayout>();
  layout->id = static_cast<std::uint32_t>(layouts_.size() + 1);
  layout->bindings = bindings;
  ErrorScopes scopes(*device_);
  layout->group = api.DeviceCreateBindGroupLayout(device_->device(), &group);
  const std::array groups{layout->group, uniform_layout()};
  WGPUPipelineLayoutDescriptor pipeline = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  pipeline.bindGroupLayouts = groups.data();
  pipeline.bindGroupLayoutCount = 1;
  layout->without_uniforms = api.DeviceCreatePipelineLayout(device_->device(), &pipeline);
  pipeline.bindGroupLayoutCount = 2;
  layout->with_uniforms = api.DeviceCreatePipelineLayout(device_->device(), &pipeline);
  const std::optional<ScopeError> error = scopes.close();

  if (error) {
    release_layout(api, *layout);
    device_->check_alive();
    throw Error(
        ErrorCode::kernel,
        text("The device refuses a kernel with ", bindings.size(), " storage bindings (limit ",
             device_->capabilities().limits.max_storage_bindings, "): ", one_line(error->message)));
  }
  return *layouts_.emplace(std::move(bindings), std::move(layout)).first->second;
}

}  // namespace berth::runtime::wgpu
