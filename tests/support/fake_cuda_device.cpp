// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cuda_device.hpp"

#include <array>
#include <bit>
#include <span>
#include <vector>

#include "berth_build_paths.hpp"
#include "platform/dynamic_library.hpp"

namespace berth::test {

namespace {

/// The fake's device memory is host memory.
std::byte* host_pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT
}

/// Runs every workgroup of a launch on the CPU.
void run_on_cpu(CpuFunction function, std::size_t bindings, const fake_cuda::Launch& launch) {
  std::vector<CpuBuffer> buffers;
  for (std::size_t i = 0; i < bindings; ++i) {
    const std::uint64_t address = launch.parameters[i];
    buffers.push_back({host_pointer(address), fake().bytes_at(address)});
  }
  std::span<const std::byte> uniforms;
  if (launch.parameters.size() > bindings) {
    const std::uint64_t address = launch.parameters[bindings];
    uniforms = {host_pointer(address), fake().bytes_at(address)};
  }
  const std::array<std::uint32_t, 3> grid{launch.grid[0], launch.grid[1], launch.grid[2]};
  for (std::uint32_t z = 0; z < grid[2]; ++z) {
    for (std::uint32_t y = 0; y < grid[1]; ++y) {
      for (std::uint32_t x = 0; x < grid[0]; ++x) {
        function(CpuInvocation(buffers, uniforms, {x, y, z}, grid));
      }
    }
  }
}

void teach_form(const Kernel& kernel, Variant variant, std::uint32_t pairs) {
  const KernelCode* cuda = kernel.code(Target::cuda, variant, pairs);
  const KernelCode* cpu = kernel.code(Target::cpu, variant, pairs);
  if (cuda == nullptr || cpu == nullptr) return;
  const KernelSignature& signature = kernel.signature();
  const std::size_t bindings =
      signature.bindings.size() - static_cast<std::size_t>(std::popcount(pairs));
  const std::size_t parameters = bindings + (signature.uniforms.empty() ? 0 : 1);
  fake().register_kernel(cuda->source, cuda->entry.c_str(), static_cast<int>(parameters),
                         [function = cpu->function, bindings](const fake_cuda::Launch& launch) {
                           run_on_cpu(function, bindings, launch);
                         });
}

}  // namespace

std::string fake_cuda_library() {
  return std::string(build_paths::kBinaryDir) + "/tests/runtime/cuda/fake/libberth_fake_cuda.so";
}

fake_cuda::Control& fake() {
  static const platform::DynamicLibrary library(fake_cuda_library());
  return *reinterpret_cast<fake_cuda::ControlFunction>(library.symbol(fake_cuda::kControlSymbol))();
}

ConnectOptions fake_options() {
  ConnectOptions options;
  options.runtime = "cuda";
  options.cuda.driver_library = fake_cuda_library();
  options.cuda.nvrtc_library = fake_cuda_library();
  return options;
}

void teach(const Kernel& kernel) {
  teach_form(kernel, Variant::plain, 0);
  teach_form(kernel, Variant::promoted, 0);
  const std::size_t pairs = kernel.signature().in_place.size();
  for (std::uint32_t choice = 1; choice < 1U << pairs; ++choice) {
    teach_form(kernel, Variant::in_place, choice);
  }
}

}  // namespace berth::test
