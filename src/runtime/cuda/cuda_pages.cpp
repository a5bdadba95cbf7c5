// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_pages.hpp"

#include <cstring>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::cuda {

using memory::has;
using memory::PageHandle;
using memory::PageRequest;
using memory::PageUse;
using memory::StorageFailure;

namespace {

bool is_staging(PageUse use) { return has(use, PageUse::upload) || has(use, PageUse::readback); }

HostState state_of(const PageSlot& slot, std::uint64_t done) {
  return slot.state == HostState::mapping && slot.last_use <= done ? HostState::mapped : slot.state;
}

}  // namespace

Pages::Pages(std::shared_ptr<const Device> device, PageWay way) : device_(std::move(device)) {
  if (way == PageWay::direct || (way == PageWay::automatic && !device_->has_memory_pools())) return;
  // A pool of our own: the device's default one has settings that are the host's affair. Its
  // release threshold is 0, so freed pages go back to the device at the next wait.
  const ContextScope scope(*device_);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_->device();
  device_->check(device_->api().MemPoolCreate(&pool_, &properties), "making a memory pool");
}

Pages::~Pages() {
  const ContextScope scope(*device_);
  for (const auto& [handle, slot] : slots_) release(slot);
  if (pool_ != nullptr) device_->api().MemPoolDestroy(pool_);
}

CUresult Pages::allocate(PageSlot& slot) const {
  const DriverTable& api = device_->api();
  const auto bytes = static_cast<std::size_t>(slot.bytes);
  if (is_staging(slot.use)) {
    void* host = nullptr;
    const CUresult result = api.MemHostAlloc(&host, bytes, 0);
    if (result == CUDA_SUCCESS) std::memset(host, 0, bytes);
    slot.host = static_cast<std::byte*>(host);
    return result;
  }
  const CUresult result =
      pool_ != nullptr ? api.MemAllocFromPoolAsync(&slot.address, bytes, pool_, device_->stream())
                       : api.MemAlloc(&slot.address, bytes);
  if (result != CUDA_SUCCESS) return result;
  const CUresult filled = api.MemsetD32Async(slot.address, 0, bytes / 4, device_->stream());
  if (filled != CUDA_SUCCESS) release(slot);
  return filled;
}

void Pages::release(const PageSlot& slot) const noexcept {
  const DriverTable& api = device_->api();
  CUresult result = CUDA_SUCCESS;
  if (slot.host != nullptr) {
    result = api.MemFreeHost(slot.host);
  } else if (slot.address != 0) {
    result = pool_ != nullptr ? api.MemFreeAsync(slot.address, device_->stream())
                              : api.MemFree(slot.address);
  }
  device_->note(result, "freeing a page");
}

void Pages::settle_frees() const {
  const DriverTable& api = device_->api();
  device_->check(api.StreamSynchronize(device_->stream()), "waiting for freed pages");
  if (pool_ != nullptr) {
    device_->check(api.MemPoolTrimTo(pool_, 0), "giving freed pages back to the device");
  }
}

memory::PageSource::Made Pages::make(const PageRequest& request) {
  device_->check_alive();
  const Bytes limit = device_->capabilities().limits.max_page_bytes;
  if (request.bytes > limit) {
    return {{},
            StorageFailure{StorageFailure::Kind::never_fits, request.bytes, limit,
                           text("A page of ", human_bytes(request.bytes), " (", request.bytes,
                                " bytes, \"", request.label, "\") is above the ", limit,
                                " bytes that this device makes at most.")}};
  }
  if (request.bytes == 0 || request.bytes % 4 != 0) {
    throw Error(ErrorCode::internal,
                text("A page of ", request.bytes,
                     " bytes was asked for; sizes are multiples of 4, not 0."));
  }
  const ContextScope scope(*device_);
  PageSlot slot;
  slot.bytes = request.bytes;
  slot.use = request.use;
  // An upload page comes mapped.
  if (has(request.use, PageUse::upload)) slot.state = HostState::mapped;
  CUresult result = allocate(slot);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    // Pages that were freed in stream order may hold memory until the stream gets there.
    settle_frees();
    result = allocate(slot);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    return {{},
            StorageFailure{StorageFailure::Kind::not_now, request.bytes, limit,
                           text("The device has no memory for a page of ",
                                human_bytes(request.bytes), " (", request.bytes, " bytes, \"",
                                request.label, "\"): ", device_->name_of(result), ".")}};
  }
  if (result != CUDA_SUCCESS) {
    const std::string doing =
        text("making a page of ", request.bytes, " bytes (\"", request.label, "\")");
    if (device_->note(result, doing)) device_->check_alive();
    return {{},
            StorageFailure{
                StorageFailure::Kind::device, request.bytes, limit,
                text("The CUDA driver answers ", device_->name_of(result), " while ", doing, ".")}};
  }
  const std::lock_guard lock(mutex_);
  const PageHandle handle{next_++};
  slots_.emplace(handle.value, slot);
  return {handle, std::nullopt};
}

void Pages::free(PageHandle page) noexcept {
  PageSlot slot;
  {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(page.value);
    if (found == slots_.end()) return;
    slot = found->second;
    slots_.erase(found);
  }
  const ContextScope scope(*device_);
  release(slot);
}

const PageSlot& Pages::at_locked(PageHandle page, const char* what) const {
  const auto found = slots_.find(page.value);
  if (found == slots_.end()) {
    throw Error(ErrorCode::internal,
                text("Page ", page.value, " was freed, or never made, and is used as ", what, "."));
  }
  return found->second;
}

PageSlot Pages::get(PageHandle page, const char* what) const {
  const std::lock_guard lock(mutex_);
  return at_locked(page, what);
}

void Pages::used_by(PageHandle page, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (const auto found = slots_.find(page.value); found != slots_.end()) {
    found->second.last_use = ticket;
  }
}

void Pages::map(PageHandle page) {
  device_->check_alive();
  const std::lock_guard lock(mutex_);
  const PageSlot& slot = at_locked(page, "a page to map");
  if (!is_staging(slot.use) || slot.state != HostState::unmapped) {
    throw Error(ErrorCode::internal,
                text("Page ", page.value, " cannot be mapped: it is ",
                     is_staging(slot.use) ? "mapped, or about to be." : "no staging page."));
  }
  slots_[page.value].state = HostState::mapping;
}

HostState Pages::host_state(PageHandle page, std::uint64_t done) const {
  const std::lock_guard lock(mutex_);
  return state_of(at_locked(page, "a staging page"), done);
}

std::byte* Pages::host_data(PageHandle page, std::uint64_t done) const {
  const std::lock_guard lock(mutex_);
  const PageSlot& slot = at_locked(page, "a page of the host's");
  if (state_of(slot, done) != HostState::mapped) {
    throw Error(ErrorCode::internal, text("Page ", page.value, " is not mapped."));
  }
  return slot.host;
}

void Pages::unmap(PageHandle page, std::uint64_t done) {
  const std::lock_guard lock(mutex_);
  if (state_of(at_locked(page, "a page to unmap"), done) != HostState::mapped) {
    throw Error(ErrorCode::internal, text("Page ", page.value, " is not mapped."));
  }
  slots_[page.value].state = HostState::unmapped;
}

}  // namespace berth::runtime::cuda
