// SPDX-License-Identifier: Apache-2.0
//
// The programs of the CUDA bench, once for berth and once for the driver by hand, and virtual
// memory management by hand.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/kernel.hpp"
#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_kernels.hpp"

namespace berth::bench {

inline constexpr std::uint32_t kTaskGroups = 4;
inline constexpr std::uint32_t kTaskWords = kTaskGroups * 64;
inline constexpr Bytes kTaskBytes = Bytes{kTaskWords} * 4;

struct LoopUniforms {
  std::uint32_t n = 0;
  std::uint32_t loops = 0;
};
/// out[i] = x[i] after `loops` rounds of arithmetic. Bindings: x (read), out (write).
[[nodiscard]] const Kernel& loop_kernel();

/// `tasks` launches of it, each from one input, or each from the one before.
struct Shape {
  std::uint32_t tasks = 0;
  bool chained = false;
  std::uint32_t loops = 1;
};

/// Why there is no GPU to measure on; empty if there is one.
[[nodiscard]] const std::string& why_no_gpu();

/// The graph as a person would make it: kernel nodes, the arguments in place.
class HandGraph {
 public:
  explicit HandGraph(const Shape& shape);
  HandGraph(const HandGraph&) = delete;
  HandGraph& operator=(const HandGraph&) = delete;
  ~HandGraph();
  void launch();
  void wait();

 private:
  std::shared_ptr<const runtime::cuda::Device> device_;
  runtime::cuda::Kernels kernels_;
  CUdeviceptr memory_ = 0;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUevent event_ = nullptr;
};

/// The same program on a backend.
class PreparedProgram {
 public:
  PreparedProgram(runtime::Backend& backend, const Shape& shape);
  PreparedProgram(const PreparedProgram&) = delete;
  PreparedProgram& operator=(const PreparedProgram&) = delete;
  ~PreparedProgram();
  runtime::Ticket submit();
  void prepare_again();

 private:
  runtime::Backend& backend_;
  std::shared_ptr<plan::Program> program_;
  std::vector<memory::PageHandle> pages_;
  memory::PageHandle room_;
  std::vector<Grid> grids_;
  std::vector<std::byte> uniforms_;
  std::unique_ptr<runtime::Prepared> prepared_;
};

/// cuMemAddressReserve, cuMemCreate, cuMemMap and cuMemSetAccess, and all of it back.
class VirtualMemory {
 public:
  VirtualMemory();
  /// Returns: what failed; empty if nothing did.
  [[nodiscard]] std::string make_and_free(Bytes bytes);

 private:
  std::shared_ptr<const runtime::cuda::Device> device_;
  decltype(&::cuMemAddressReserve) reserve_ = nullptr;
  decltype(&::cuMemAddressFree) unreserve_ = nullptr;
  decltype(&::cuMemCreate) create_ = nullptr;
  decltype(&::cuMemRelease) release_ = nullptr;
  decltype(&::cuMemMap) map_ = nullptr;
  decltype(&::cuMemUnmap) unmap_ = nullptr;
  decltype(&::cuMemSetAccess) set_access_ = nullptr;
};

}  // namespace berth::bench
