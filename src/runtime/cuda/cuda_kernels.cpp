// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/cuda/cuda_compiler.hpp"

namespace berth::runtime::cuda {

namespace {

std::uint32_t bindings_of(const KernelSignature& signature, const KernelCode& code) {
  auto bindings = static_cast<std::uint32_t>(signature.bindings.size());
  if (code.variant != Variant::in_place) return bindings;
  for (std::size_t pair = 0; pair < signature.in_place.size(); ++pair) {
    if (((code.in_place_pairs >> pair) & 1U) != 0) --bindings;
  }
  return bindings;
}

}  // namespace

std::size_t Kernels::KeyHash::operator()(const Key& key) const noexcept {
  return std::hash<std::uint64_t>{}(key.kernel * 0x9E3779B97F4A7C15ULL +
                                    (std::uint64_t{key.pairs} << 8U) +
                                    static_cast<std::uint64_t>(key.variant));
}

Kernels::~Kernels() {
  const ContextScope scope(*device_);
  for (const auto& [key, kernel] : kernels_) device_->api().ModuleUnload(kernel.module);
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
        text("The cuda runtime runs no batched kernels yet (kernel \"", kernel.name(), "\")."));
  }
  const KernelCode* code = kernel.code(Target::cuda, variant, in_place_pairs);
  // Access is not enforced here: the plain code serves where all is bound read_write.
  if (code == nullptr && variant == Variant::promoted) code = kernel.code(Target::cuda);
  if (code == nullptr) {
    throw Error(ErrorCode::kernel, text("The kernel \"", kernel.name(), "\"", suffix_of(variant),
                                        " has no CUDA code, which the cuda runtime needs."));
  }
  const auto& features = device_->capabilities().features;
  for (const std::string& feature : kernel.signature().requires_features) {
    if (std::ranges::find(features, feature) != features.end()) continue;
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\" requires the feature \"", feature,
                     "\", which the device \"", device_->capabilities().adapter, "\" lacks."));
  }
  return kernels_.emplace(key, compile(kernel, *code)).first->second;
}

CompiledKernel Kernels::compile(const Kernel& kernel, const KernelCode& code) const {
  const KernelSignature& signature = kernel.signature();
  CompiledKernel out;
  out.bindings = bindings_of(signature, code);
  out.has_uniforms = !signature.uniforms.empty();
  out.workgroup = signature.workgroup;
  const Limits& limits = device_->capabilities().limits;
  if (out.bindings > limits.max_storage_bindings) {
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\" has ", out.bindings,
                     " storage bindings, and the device takes ", limits.max_storage_bindings, "."));
  }
  load(kernel, code, out);
  return out;
}

void Kernels::load(const Kernel& kernel, const KernelCode& code, CompiledKernel& out) const {
  const Image image = compile_source(device_->nvrtc(), kernel, code, device_->architecture());
  const DriverTable& api = device_->api();
  const ContextScope scope(*device_);
  const auto refuse = [&](CUresult result, const std::string& what) {
    if (result == CUDA_SUCCESS) return;
    if (out.module != nullptr) api.ModuleUnload(out.module);
    if (device_->note(result, text("loading the kernel \"", kernel.name(), "\""))) {
      device_->check_alive();
    }
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\"", suffix_of(code.variant), " ", what, ": ",
                     device_->name_of(result), "."));
  };
  refuse(api.ModuleLoadData(&out.module, image.bytes.data()), "is refused by the driver");
  refuse(api.ModuleGetFunction(&out.function, out.module, code.entry.c_str()),
         text(R"(has no function extern "C" __global__ ")", code.entry, '"'));
  int threads = 0;
  refuse(api.FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, out.function),
         "does not tell its limits");
  if (out.workgroup.count() > static_cast<std::uint64_t>(threads)) {
    api.ModuleUnload(out.module);
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\"", suffix_of(code.variant), " has ",
                     out.workgroup.count(),
                     " invocations per workgroup, and its registers and "
                     "workgroup memory allow ",
                     threads, " on the device \"", device_->capabilities().adapter, "\"."));
  }
}

}  // namespace berth::runtime::cuda
