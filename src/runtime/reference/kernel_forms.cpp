// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/kernel_forms.hpp"

#include <algorithm>

#include "berth/error.hpp"
#include "runtime/reference/capabilities.hpp"

namespace berth::runtime::reference {

namespace {

std::uint32_t position(const KernelSignature& signature, const std::string& binding) {
  const auto found = std::ranges::find(signature.bindings, binding, &BindingSignature::name);
  if (found == signature.bindings.end()) {
    throw Error(ErrorCode::kernel, "Kernel '" + signature.name + "' names a binding '" + binding +
                                       "' that it does not have.");
  }
  return static_cast<std::uint32_t>(found - signature.bindings.begin());
}

}  // namespace

KernelForm form_of(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) {
  const KernelSignature& signature = kernel.signature();
  const auto count = static_cast<std::uint32_t>(signature.bindings.size());
  if (count > kMostBindings) {
    throw Error(ErrorCode::kernel, "Kernel '" + signature.name + "' has " + std::to_string(count) +
                                       " bindings; the limit is " + std::to_string(kMostBindings) +
                                       ".");
  }
  if (variant != Variant::in_place) in_place_pairs = 0;

  // output_of[i]: the binding that stands for binding i of the signature.
  std::vector<std::uint32_t> output_of(count);
  for (std::uint32_t i = 0; i < count; ++i) output_of[i] = i;
  for (std::size_t pair = 0; pair < signature.in_place.size(); ++pair) {
    if (pair >= 32 || (in_place_pairs >> pair & 1U) == 0) continue;
    output_of[position(signature, signature.in_place[pair].input)] =
        position(signature, signature.in_place[pair].output);
  }

  KernelForm form;
  std::vector<std::uint32_t> binding_of(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (output_of[i] != i) continue;  // left out
    binding_of[i] = static_cast<std::uint32_t>(form.signature_of_binding.size());
    form.signature_of_binding.push_back(i);
    const bool shared = std::ranges::count(output_of, i) > 1;
    form.access_of_binding.push_back(shared ? Access::read_write : signature.bindings[i].access);
  }

  const KernelCode* own = kernel.code(Target::cpu, variant, in_place_pairs);
  const bool own_in_place = variant == Variant::in_place && own != nullptr;
  const KernelCode* code = own != nullptr ? own : kernel.code(Target::cpu);
  if (code == nullptr || code->function == nullptr) {
    throw Error(ErrorCode::kernel, "Kernel '" + signature.name +
                                       "' has no function for the CPU (a KernelCode with "
                                       "target cpu and a function).");
  }
  form.function = code->function;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (own_in_place && output_of[i] != i) continue;  // such code leaves the input out too
    form.binding_of_buffer.push_back(binding_of[output_of[i]]);
  }
  return form;
}

void CompiledForms::compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) {
  static_cast<void>(form_of(kernel, variant, in_place_pairs));
  const std::scoped_lock lock(mutex_);
  forms_.emplace(kernel.id(), variant, in_place_pairs);
}

bool CompiledForms::compiled(const Kernel& kernel, Variant variant,
                             std::uint32_t in_place_pairs) const {
  const std::scoped_lock lock(mutex_);
  return forms_.contains({kernel.id(), variant, in_place_pairs});
}

}  // namespace berth::runtime::reference
