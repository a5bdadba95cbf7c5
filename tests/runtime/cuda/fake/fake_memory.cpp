// SPDX-License-Identifier: Apache-2.0
//
// Memory, streams and events of the fake libcuda.
#include <cstring>

#include "runtime/cuda/fake/fake_state.hpp"

namespace fake_cuda {

namespace {

CUresult allocate(std::uint64_t& address, std::size_t bytes, bool device) {
  State& s = state();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (device && bytes > s.memory - s.used) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.memory = std::make_unique<std::byte[]>(bytes + 256);
  std::memset(allocation.memory.get(), 0xCD, bytes + 256);
  allocation.bytes = bytes;
  allocation.device = device;
  const auto raw = reinterpret_cast<std::uint64_t>(allocation.memory.get());
  address = (raw + 255) / 256 * 256;
  if (device) s.used += bytes;
  s.allocations.emplace(address, std::move(allocation));
  return CUDA_SUCCESS;
}

CUresult release(std::uint64_t address, bool device) {
  State& s = state();
  const auto found = s.allocations.find(address);
  if (found == s.allocations.end() || found->second.device != device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (device) s.used -= found->second.bytes;
  s.allocations.erase(found);
  return CUDA_SUCCESS;
}

const Allocation* find(std::uint64_t address, std::size_t bytes) {
  const auto& allocations = state().allocations;
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  if (address + bytes > begin + allocation.bytes) return nullptr;
  return &allocation;
}

void count_host(std::uint64_t address, std::size_t bytes) {
  const Allocation* allocation = find(address, bytes);
  if (allocation == nullptr || allocation->device) ++state().pageable_copies;
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT

}  // namespace

bool is_device(std::uint64_t address, std::size_t bytes) {
  const Allocation* allocation = find(address, bytes);
  return allocation != nullptr && allocation->device;
}

Stream& stream_of(CUstream stream) { return *reinterpret_cast<Stream*>(stream); }

CUresult execute(Stream& stream, std::uint64_t position) {
  State& s = state();
  while (stream.executed < position && s.sticky == CUDA_SUCCESS) {
    const Operation operation = std::move(stream.pending.front());
    stream.pending.pop_front();
    ++stream.executed;
    s.sticky = s.work_failure ? *s.work_failure : operation();
    s.work_failure.reset();
  }
  return s.sticky;
}

CUresult issue(CUstream to, Operation operation) {
  Stream& stream = stream_of(to);
  if (stream.capturing != nullptr) {
    auto node = std::make_unique<Node>();
    node->operation = std::move(operation);
    node->index = stream.capturing->nodes.size();
    if (node->index > 0) node->after.push_back(node->index - 1);
    stream.capturing->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  stream.pending.push_back(std::move(operation));
  ++stream.issued;
  // An error of the work itself shows up later, as on a real device.
  if (state().work == Work::at_once) execute(stream, stream.issued);
  return CUDA_SUCCESS;
}

Operation copy_operation(std::uint64_t to, bool to_device, std::uint64_t from, bool from_device,
                         std::size_t bytes) {
  return [=] {
    if (to_device && !is_device(to, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (from_device && !is_device(from, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::memmove(pointer(to), pointer(from), bytes);
    return CUDA_SUCCESS;
  };
}

Operation fill_operation(std::uint64_t to, std::uint32_t value, std::size_t words) {
  return [=] {
    if (!is_device(to, words * 4)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (std::size_t i = 0; i < words; ++i) std::memcpy(pointer(to + i * 4), &value, 4);
    return CUDA_SUCCESS;
  };
}

std::size_t bytes_at_address(std::uint64_t address) {
  const auto& allocations = state().allocations;
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return 0;
  const auto& [begin, allocation] = *std::prev(after);
  return address < begin + allocation.bytes ? begin + allocation.bytes - address : 0;
}

}  // namespace fake_cuda

using fake_cuda::state;

extern "C" {

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  FAKE_ENTER("cuMemAlloc");
  std::uint64_t made = 0;
  const CUresult result = fake_cuda::allocate(made, bytes, true);
  *address = made;
  return result;
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes,
                                         CUmemoryPool /*pool*/, CUstream /*stream*/) {
  FAKE_ENTER("cuMemAllocFromPoolAsync");
  std::uint64_t made = 0;
  const CUresult result = fake_cuda::allocate(made, bytes, true);
  *address = made;
  return result;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  FAKE_ENTER("cuMemFree");
  for (fake_cuda::Stream* stream : state().streams) fake_cuda::execute(*stream, stream->issued);
  return fake_cuda::release(address, true);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  FAKE_ENTER("cuMemFreeAsync");
  if (!fake_cuda::is_device(address, 1)) return CUDA_ERROR_INVALID_VALUE;
  return fake_cuda::issue(stream, [=] { return fake_cuda::release(address, true); });
}

CUresult CUDAAPI cuMemHostAlloc(void** address, std::size_t bytes, unsigned /*flags*/) {
  FAKE_ENTER("cuMemHostAlloc");
  std::uint64_t made = 0;
  const CUresult result = fake_cuda::allocate(made, bytes, false);
  *address = fake_cuda::pointer(made);
  return result;
}

CUresult CUDAAPI cuMemFreeHost(void* address) {
  FAKE_ENTER("cuMemFreeHost");
  return fake_cuda::release(reinterpret_cast<std::uint64_t>(address), false);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* /*properties*/) {
  FAKE_ENTER("cuMemPoolCreate");
  ++state().pools;
  *pool = reinterpret_cast<CUmemoryPool>(&state().pools);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool /*pool*/) {
  FAKE_ENTER("cuMemPoolDestroy");
  --state().pools;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool /*pool*/, std::size_t /*keep*/) {
  FAKE_ENTER("cuMemPoolTrimTo");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                   CUstream stream) {
  FAKE_ENTER("cuMemcpyDtoDAsync");
  return fake_cuda::issue(stream, fake_cuda::copy_operation(to, true, from, true, bytes));
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  FAKE_ENTER("cuMemcpyDtoHAsync");
  const auto host = reinterpret_cast<std::uint64_t>(to);
  fake_cuda::count_host(host, bytes);
  return fake_cuda::issue(stream, fake_cuda::copy_operation(host, false, from, true, bytes));
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                                   CUstream stream) {
  FAKE_ENTER("cuMemcpyHtoDAsync");
  const auto host = reinterpret_cast<std::uint64_t>(from);
  fake_cuda::count_host(host, bytes);
  return fake_cuda::issue(stream, fake_cuda::copy_operation(to, true, host, false, bytes));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t words,
                                  CUstream stream) {
  FAKE_ENTER("cuMemsetD32Async");
  return fake_cuda::issue(stream, fake_cuda::fill_operation(to, value, words));
}

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned /*flags*/) {
  FAKE_ENTER("cuStreamCreate");
  auto made = std::make_unique<fake_cuda::Stream>();
  state().streams.insert(made.get());
  *stream = reinterpret_cast<CUstream>(made.release());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  FAKE_ENTER("cuStreamDestroy");
  fake_cuda::Stream& fake = fake_cuda::stream_of(stream);
  fake_cuda::execute(fake, fake.issued);
  state().streams.erase(&fake);
  const std::unique_ptr<fake_cuda::Stream> owned(&fake);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  FAKE_ENTER("cuStreamSynchronize");
  fake_cuda::Stream& fake = fake_cuda::stream_of(stream);
  return fake_cuda::execute(fake, fake.issued);
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned /*flags*/) {
  FAKE_ENTER("cuEventCreate");
  auto made = std::make_unique<fake_cuda::Event>();
  state().events.insert(made.get());
  *event = reinterpret_cast<CUevent>(made.release());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  FAKE_ENTER("cuEventDestroy");
  const std::unique_ptr<fake_cuda::Event> owned(reinterpret_cast<fake_cuda::Event*>(event));
  state().events.erase(owned.get());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  FAKE_ENTER("cuEventRecord");
  auto& fake = *reinterpret_cast<fake_cuda::Event*>(event);
  fake.stream = &fake_cuda::stream_of(stream);
  fake.position = fake.stream->issued;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  FAKE_ENTER("cuEventQuery");
  const auto& fake = *reinterpret_cast<fake_cuda::Event*>(event);
  return fake.stream->executed >= fake.position ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  FAKE_ENTER("cuEventSynchronize");
  const auto& fake = *reinterpret_cast<fake_cuda::Event*>(event);
  return fake_cuda::execute(*fake.stream, fake.position);
}

}  // extern "C"
