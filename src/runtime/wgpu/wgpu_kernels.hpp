// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels: WGSL modules, pipelines, and the layouts of their bind groups, which follow
// from the signature alone: bindings in group 0, read-only where the kernel only reads; uniforms in
// group 1 with a dynamic offset. Kernels of equal accesses share a layout, and so their bind
// groups. Safe from any thread; a compilation holds the lock.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "berth/kernel.hpp"
#include "runtime/wgpu/wgpu_device.hpp"

namespace berth::runtime::wgpu {

/// One binding of a layout.
struct LayoutBinding {
  std::uint32_t number = 0;  ///< @binding
  bool writable = false;     ///< read_write storage, else read-only
  friend auto operator<=>(const LayoutBinding&, const LayoutBinding&) = default;
};

/// Layout of group 0, with the pipeline layouts on top of it.
struct GroupLayout {
  std::uint32_t id = 0;
  std::vector<LayoutBinding> bindings;
  WGPUBindGroupLayout group = nullptr;
  WGPUPipelineLayout without_uniforms = nullptr;
  WGPUPipelineLayout with_uniforms = nullptr;
};

struct CompiledKernel {
  const GroupLayout* layout = nullptr;
  WGPUComputePipeline pipeline = nullptr;
  bool has_uniforms = false;
};

class Kernels {
 public:
  explicit Kernels(std::shared_ptr<Device> device);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  /// The compiled form; compiles it if that has not been done. Lives as long as this object.
  /// Errors: Error(kernel) with the kernel's name, line and the compiler's text; Unsupported for
  ///   batched variants; DeviceLost.
  const CompiledKernel& get(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs);
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t in_place_pairs) const;

  /// Layout of group 1: one uniform buffer with a dynamic offset.
  [[nodiscard]] WGPUBindGroupLayout uniform_layout() const { return uniform_layout_; }

 private:
  struct Key {
    std::uint64_t kernel = 0;
    Variant variant = Variant::plain;
    std::uint32_t pairs = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  [[nodiscard]] CompiledKernel compile(const Kernel& kernel, const KernelCode& code);
  [[nodiscard]] WGPUComputePipeline make_pipeline(const Kernel& kernel, const KernelCode& code,
                                                  WGPUPipelineLayout layout);
  [[nodiscard]] const GroupLayout& layout_for(std::vector<LayoutBinding> bindings);

  std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, CompiledKernel, KeyHash> kernels_;
  std::map<std::vector<LayoutBinding>, std::unique_ptr<GroupLayout>> layouts_;
  WGPUBindGroupLayout uniform_layout_ = nullptr;
};

/// Line of the first error that a compiler's text names, 0 if none. Knows the words of wgpu-native
/// ("wgsl:5:10") and of Dawn (":5:10 error:").
[[nodiscard]] std::uint32_t line_in(std::string_view compiler_text);

}  // namespace berth::runtime::wgpu
