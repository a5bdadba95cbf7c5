// SPDX-License-Identifier: Apache-2.0
#include "cuda_programs.hpp"

#include <cstring>
#include <stdexcept>

#include "berth/error.hpp"
#include "platform/dynamic_library.hpp"

namespace berth::bench {

using runtime::cuda::CompiledKernel;
using runtime::cuda::ContextScope;
using runtime::cuda::Device;

namespace {

constexpr Bytes kUniformStride = 16;

constexpr const char* kSource = R"(
struct Uniforms { unsigned n; unsigned loops; };
extern "C" __global__ void loop(const unsigned* x, unsigned* out, const Uniforms* u) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= u->n) return;
  unsigned value = x[i];
  for (unsigned k = 0; k < u->loops; ++k) value = value * 1664525u + 1013904223u;
  out[i] = value;
}
)";

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(what);
}

}  // namespace

const Kernel& loop_kernel() {
  static const Kernel kernel = [] {
    KernelSignature signature;
    signature.name = "loop";
    signature.bindings = {{"x", Element::u32, Access::read, 1},
                          {"out", Element::u32, Access::write, 1}};
    signature.uniforms = {{"n", Element::u32, 1, Builtin::none, {}},
                          {"loops", Element::u32, 1, Builtin::none, {}}};
    signature.workgroup = {64, 1, 1};
    KernelCode code;
    code.target = Target::cuda;
    code.source = kSource;
    code.entry = "loop";
    return Kernel(std::move(signature), {std::move(code)});
  }();
  return kernel;
}

const std::string& why_no_gpu() {
  static const std::string why = [] {
    try {
      const Device device({});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  }();
  return why;
}

HandGraph::HandGraph(const Shape& shape)
    : device_(std::make_shared<const Device>(ConnectOptions{})), kernels_(device_) {
  const ContextScope scope(*device_);
  const auto& api = device_->api();
  const CompiledKernel& kernel = kernels_.get(loop_kernel(), Variant::plain, 0);
  const Bytes data = kTaskBytes * (shape.tasks + 1);
  check(api.MemAlloc(&memory_, data + kUniformStride), "cuMemAlloc");
  check(api.MemsetD32Async(memory_, 0, data / 4, device_->stream()), "cuMemsetD32Async");
  const LoopUniforms uniforms{kTaskWords, shape.loops};
  CUdeviceptr block = memory_ + data;
  check(api.MemcpyHtoDAsync(block, &uniforms, sizeof(uniforms), device_->stream()),
        "cuMemcpyHtoDAsync");
  check(api.GraphCreate(&graph_, 0), "cuGraphCreate");
  CUgraphNode before = nullptr;
  for (std::uint32_t i = 0; i < shape.tasks; ++i) {
    CUdeviceptr x = memory_ + (shape.chained ? i * kTaskBytes : 0);
    CUdeviceptr out = memory_ + (i + 1) * kTaskBytes;
    void* arguments[] = {&x, &out, &block};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = kernel.function;
    params.gridDimX = kTaskGroups;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 64;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    CUgraphNode node = nullptr;
    const bool waits = shape.chained && before != nullptr;
    check(api.GraphAddKernelNode(&node, graph_, waits ? &before : nullptr, waits ? 1 : 0, &params),
          "cuGraphAddKernelNode");
    before = node;
  }
  check(api.GraphInstantiateWithFlags(&exec_, graph_, 0), "cuGraphInstantiate");
  check(api.EventCreate(&event_, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
        "cuEventCreate");
}

HandGraph::~HandGraph() {
  const ContextScope scope(*device_);
  const auto& api = device_->api();
  api.StreamSynchronize(device_->stream());
  api.EventDestroy(event_);
  api.GraphExecDestroy(exec_);
  api.GraphDestroy(graph_);
  api.MemFree(memory_);
}

void HandGraph::launch() {
  const ContextScope scope(*device_);
  check(device_->api().GraphLaunch(exec_, device_->stream()), "cuGraphLaunch");
}

void HandGraph::wait() {
  const ContextScope scope(*device_);
  const auto& api = device_->api();
  check(api.EventRecord(event_, device_->stream()), "cuEventRecord");
  check(api.EventSynchronize(event_), "cuEventSynchronize");
}

PreparedProgram::PreparedProgram(runtime::Backend& backend, const Shape& shape)
    : backend_(backend), program_(std::make_shared<plan::Program>()) {
  const Bytes data = kTaskBytes * (shape.tasks + 1);
  program_->pages.push_back({data, {}});
  program_->kernels.push_back({loop_kernel(), Variant::plain, 0});
  program_->labels.emplace_back("loop");
  for (std::uint32_t i = 0; i < shape.tasks; ++i) {
    plan::Command command;
    command.first_binding = static_cast<std::uint32_t>(program_->bindings.size());
    command.binding_count = 2;
    command.grid = i;
    command.uniform_offset = i * kUniformStride;
    command.uniform_bytes = sizeof(LoopUniforms);
    program_->commands.push_back(command);
    program_->bindings.push_back(
        {plan::PageId(0), shape.chained ? i * kTaskBytes : 0, kTaskBytes, Access::read, 0});
    program_->bindings.push_back(
        {plan::PageId(0), (i + 1) * kTaskBytes, kTaskBytes, Access::write, 0});
    grids_.push_back({kTaskGroups, 1, 1});
    const LoopUniforms uniforms{kTaskWords, shape.loops};
    uniforms_.resize(command.uniform_offset + kUniformStride);
    std::memcpy(uniforms_.data() + command.uniform_offset, &uniforms, sizeof(uniforms));
  }
  program_->grids = shape.tasks;
  program_->uniform_bytes = uniforms_.size();
  const auto make = [&](Bytes bytes, memory::PageUse use) {
    const auto made = backend_.make_page({bytes, use, "bench"});
    if (made.failure) throw std::runtime_error(made.failure->message);
    return made.page;
  };
  pages_.push_back(make(data, memory::PageUse::storage));
  room_ = make(align_up(uniforms_.size(), 4), memory::PageUse::uniform);
  prepare_again();
}

PreparedProgram::~PreparedProgram() {
  prepared_.reset();
  backend_.free_page(pages_.front());
  backend_.free_page(room_);
}

void PreparedProgram::prepare_again() { prepared_ = backend_.prepare(program_, pages_); }

runtime::Ticket PreparedProgram::submit() {
  runtime::Submission submission;
  submission.uniforms = uniforms_;
  submission.uniform_room = {room_, 0};
  submission.grids = grids_;
  return backend_.submit(backend_.encode(*prepared_, submission));
}

VirtualMemory::VirtualMemory() : device_(std::make_shared<const Device>(ConnectOptions{})) {
  const platform::DynamicLibrary driver("libcuda.so.1");
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(driver.symbol(name));
  };
  find(reserve_, "cuMemAddressReserve");
  find(unreserve_, "cuMemAddressFree");
  find(create_, "cuMemCreate");
  find(release_, "cuMemRelease");
  find(map_, "cuMemMap");
  find(unmap_, "cuMemUnmap");
  find(set_access_, "cuMemSetAccess");
}

std::string VirtualMemory::make_and_free(Bytes bytes) {
  const ContextScope scope(*device_);
  const std::size_t size = align_up(bytes, 2 * kMiB);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_->device()};
  CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  if (reserve_(&address, size, 0, 0, 0) != CUDA_SUCCESS) return "cuMemAddressReserve fails";
  if (create_(&handle, size, &prop, 0) != CUDA_SUCCESS) return "cuMemCreate fails";
  if (map_(address, size, 0, handle, 0) != CUDA_SUCCESS) return "cuMemMap fails";
  if (set_access_(address, size, &access, 1) != CUDA_SUCCESS) return "cuMemSetAccess fails";
  device_->api().MemsetD32Async(address, 0, size / 4, device_->stream());
  device_->api().StreamSynchronize(device_->stream());
  unmap_(address, size);
  release_(handle);
  unreserve_(address, size);
  return {};
}

}  // namespace berth::bench
