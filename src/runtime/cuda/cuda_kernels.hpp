// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels: modules and functions, by kernel and form. Safe from any thread; a compilation
// holds the lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "berth/kernel.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace berth::runtime::cuda {

/// One form of a kernel on the device.
///
/// The function's parameters are one pointer per binding of the form, in the signature's order (an
/// in-place form leaves its inputs out), each to the first byte of the bound range, and then, if
/// the kernel has uniform fields, a pointer to its uniform block.
struct CompiledKernel {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::uint32_t bindings = 0;
  bool has_uniforms = false;
  WorkgroupSize workgroup;
};

class Kernels {
 public:
  explicit Kernels(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  /// The compiled form; compiles it if that has not been done. Lives as long as this object.
  /// Errors: Error(kernel) with the kernel's name, line and NVRTC's text; Unsupported for batched
  ///   variants; DeviceLost.
  const CompiledKernel& get(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs);
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t in_place_pairs) const;

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

  [[nodiscard]] CompiledKernel compile(const Kernel& kernel, const KernelCode& code) const;
  void load(const Kernel& kernel, const KernelCode& code, CompiledKernel& out) const;

  std::shared_ptr<const Device> device_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, CompiledKernel, KeyHash> kernels_;
};

}  // namespace berth::runtime::cuda
