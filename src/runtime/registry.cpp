// SPDX-License-Identifier: Apache-2.0
#include "runtime/registry.hpp"

#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/reference/reference_runtime.hpp"
#if BERTH_HAS_WGPU
#include "runtime/wgpu/wgpu_runtime.hpp"
#endif
#if BERTH_HAS_CUDA
#include "runtime/cuda/cuda_runtime.hpp"
#endif

namespace berth::runtime {

std::span<const RegisteredRuntime> registered_runtimes() {
#if BERTH_HAS_WGPU
  static constexpr RegisteredRuntime kWgpu{"wgpu", make_wgpu, true, {}};
#else
  static constexpr RegisteredRuntime kWgpu{"wgpu", nullptr, true,
                                           "webgpu.h was not found when this build was configured"};
#endif
#if BERTH_HAS_CUDA
  static constexpr RegisteredRuntime kCuda{"cuda", make_cuda, true, {}};
#else
  static constexpr RegisteredRuntime kCuda{"cuda", nullptr, true,
                                           "cuda.h was not found when this build was configured"};
#endif
  static constexpr std::array kRuntimes = {
      kWgpu,
      kCuda,
      RegisteredRuntime{"reference", make_reference, true, {}},
      RegisteredRuntime{"reference-strict", make_reference_strict, false, {}},
  };
  return kRuntimes;
}

namespace {

std::unique_ptr<Backend> make_named(const ConnectOptions& options) {
  std::string known;
  for (const RegisteredRuntime& runtime : registered_runtimes()) {
    if (runtime.name == options.runtime) {
      if (runtime.make == nullptr) {
        throw Error(ErrorCode::unavailable, text("The runtime '", runtime.name,
                                                 "' is not available: ", runtime.left_out, "."));
      }
      return runtime.make(options);
    }
    known += text(known.empty() ? "" : ", ", runtime.name);
  }
  throw Error(ErrorCode::invalid_argument,
              text("The runtime '", options.runtime, "' is unknown; this build has: ", known, "."));
}

}  // namespace

std::unique_ptr<Backend> make_backend(const ConnectOptions& options) {
  if (!options.runtime.empty()) return make_named(options);
  std::string reasons;
  for (const RegisteredRuntime& runtime : registered_runtimes()) {
    if (!runtime.automatic) continue;
    try {
      ConnectOptions named = options;
      named.runtime = runtime.name;
      return make_named(named);
    } catch (const Error& error) {
      reasons += text(' ', runtime.name, ": ", error.what());
    }
  }
  throw Error(ErrorCode::unavailable, text("No runtime is available here.", reasons));
}

}  // namespace berth::runtime
