// SPDX-License-Identifier: Apache-2.0
//
// Which function computes a form of a kernel, and how its buffers follow from a command's bindings.
// A CPU needs no code of its own for most forms: access is not enforced (promoted), and the plain
// function computes in place if input and output are the same bytes, or one task of a batch.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "berth/kernel.hpp"

namespace berth::runtime::reference {

struct KernelForm {
  CpuFunction function = nullptr;
  /// Per buffer of the function: the command's binding behind it.
  std::vector<std::uint32_t> binding_of_buffer;
  /// Per binding of the command: its place in the signature.
  std::vector<std::uint32_t> signature_of_binding;
  /// Per binding of the command: what the kernel does to it, whatever it is bound as.
  std::vector<Access> access_of_binding;
};

/// Errors: Error(kernel) if the kernel has no function for the CPU, or too many bindings.
[[nodiscard]] KernelForm form_of(const Kernel& kernel, Variant variant,
                                 std::uint32_t in_place_pairs);

/// Which forms were asked for. Guards itself.
class CompiledForms {
 public:
  void compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs);
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t in_place_pairs) const;

 private:
  using Key = std::tuple<std::uint64_t, Variant, std::uint32_t>;
  mutable std::mutex mutex_;
  std::set<Key> forms_;
};

}  // namespace berth::runtime::reference
