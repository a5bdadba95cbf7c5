// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_pages.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_scope.hpp"

namespace berth::runtime::wgpu {

using memory::has;
using memory::PageHandle;
using memory::PageRequest;
using memory::PageUse;
using memory::StorageFailure;

namespace {

WGPUBufferUsage usage_of(PageUse use) {
  // Mappable buffers may only be copied on one side; this is all WebGPU allows them.
  if (has(use, PageUse::upload)) return WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc;
  if (has(use, PageUse::readback)) return WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  WGPUBufferUsage usage = WGPUBufferUsage_CopyDst;
  if (has(use, PageUse::storage)) usage |= WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc;
  if (has(use, PageUse::uniform)) usage |= WGPUBufferUsage_Uniform;
  if (has(use, PageUse::indirect)) usage |= WGPUBufferUsage_Indirect;
  if (has(use, PageUse::vertex)) usage |= WGPUBufferUsage_Vertex;
  if (has(use, PageUse::index)) usage |= WGPUBufferUsage_Index;
  return usage;
}

bool is_staging(PageUse use) { return has(use, PageUse::upload) || has(use, PageUse::readback); }

PageHandle handle_of(std::uint32_t index, std::uint32_t generation) {
  return PageHandle{(std::uint64_t{generation} << 32U) | index};
}

}  // namespace

void MapCell::on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void* cell,
                        void* /*unused*/) {
  auto* self = static_cast<MapCell*>(cell);
  if (status == WGPUMapAsyncStatus_Success) {
    self->state.store(HostState::mapped, std::memory_order_release);
  } else {
    try {
      self->message = one_line(text_of(message));
    } catch (...) {  // no memory for the text: the failure itself counts
      self->message.clear();
    }
    self->failed.store(true, std::memory_order_release);
    self->state.store(HostState::unmapped, std::memory_order_release);
  }
  self->release();
}

Pages::Pages(std::shared_ptr<Device> device) : device_(std::move(device)) {}

Pages::~Pages() {
  for (std::uint32_t i = 0; i < slots_; ++i) {
    const PageSlot& slot = slot_at(i);
    if (slot.buffer != nullptr) destroy({slot.buffer, slot.last_use, slot.map});
  }
  for (const Zombie& zombie : zombies_) destroy(zombie);
}

std::uint32_t Pages::take_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    return index;
  }
  const std::size_t chunk = slots_ / kChunk;
  if (chunk == chunks_.size()) {
    throw Error(ErrorCode::too_large,
                text("There are ", slots_, " pages already, the most this runtime keeps."));
  }
  if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>();
  return slots_++;
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
  WGPUBuffer buffer = nullptr;
  std::optional<StorageFailure> failure = make_buffer(request, buffer);
  if (failure && failure->kind == StorageFailure::Kind::not_now) {
    // Pages that were freed, and whose work may have finished since, still hold memory.
    if (device_->pumps()) device_->pump();
    if (sweep() > 0) failure = make_buffer(request, buffer);
  }
  if (failure) return {{}, std::move(failure)};

  const std::uint32_t index = take_slot();
  PageSlot& slot = slot_at(index);
  slot.buffer = buffer;
  slot.bytes = request.bytes;
  slot.use = request.use;
  slot.last_use = 0;
  slot.data.store(nullptr, std::memory_order_relaxed);
  if (is_staging(request.use)) {
    slot.map = new MapCell;
    if (has(request.use, PageUse::upload)) slot.map->state.store(HostState::mapped);
  }
  return {handle_of(index, slot.generation), std::nullopt};
}

std::optional<StorageFailure> Pages::make_buffer(const PageRequest& request, WGPUBuffer& buffer) {
  WGPUBufferDescriptor descriptor{};
  descriptor.label = view(request.label);
  descriptor.usage = usage_of(request.use);
  descriptor.size = request.bytes;
  descriptor.mappedAtCreation = has(request.use, PageUse::upload) ? WGPU_TRUE : WGPU_FALSE;

  ErrorScopes scopes(*device_);
  buffer = device_->api().DeviceCreateBuffer(device_->device(), &descriptor);
  const std::optional<ScopeError> error = scopes.close();
  if (!error && buffer != nullptr) return std::nullopt;

  if (buffer != nullptr) device_->api().BufferRelease(buffer);
  buffer = nullptr;
  device_->check_alive();
  // Size and usage are right, so a Validation error here is wgpu-native's way to say that memory is
  // exhausted ("Not enough memory left."); a null buffer is Dawn's for one that comes mapped.
  const bool device_error =
      error && (error->type == WGPUErrorType_Internal || error->type == WGPUErrorType_Unknown);
  return StorageFailure{
      device_error ? StorageFailure::Kind::device : StorageFailure::Kind::not_now, request.bytes,
      device_->capabilities().limits.max_page_bytes,
      text("The device makes no page of ", human_bytes(request.bytes), " (", request.bytes,
           " bytes, \"", request.label,
           "\") now: ", error ? one_line(error->message) : std::string("it gives no reason."))};
}

void Pages::free(PageHandle page) noexcept {
  PageSlot* slot = find(page);
  if (slot == nullptr) return;
  {
    const std::lock_guard lock(zombies_mutex_);
    zombies_.push_back({slot->buffer, slot->last_use, slot->map});
  }
  slot->buffer = nullptr;
  slot->map = nullptr;
  slot->data.store(nullptr, std::memory_order_relaxed);
  ++slot->generation;
  free_slots_.push_back(static_cast<std::uint32_t>(page.value & 0xFFFFFFFFU));
  sweep();
}

bool Pages::finished(const Zombie& zombie) const {
  if (device_->events().is_lost()) return true;
  if (zombie.map != nullptr && zombie.map->state.load() == HostState::mapping) return false;
  return zombie.last_use <= device_->events().completed();
}

void Pages::destroy(const Zombie& zombie) noexcept {
  // Destroyed, not only released: its memory is wanted back now, whoever still refers to it. Only
  // when the runtime goes may work still be under way; the library then keeps the buffer as long.
  if (finished(zombie)) device_->api().BufferDestroy(zombie.buffer);
  device_->api().BufferRelease(zombie.buffer);
  if (zombie.map != nullptr) zombie.map->release();
}

std::size_t Pages::sweep() noexcept {
  const std::lock_guard lock(zombies_mutex_);
  return std::erase_if(zombies_, [&](const Zombie& zombie) {
    if (!finished(zombie)) return false;
    destroy(zombie);
    return true;
  });
}

PageSlot* Pages::find(PageHandle page) const {
  const auto index = static_cast<std::uint32_t>(page.value & 0xFFFFFFFFU);
  if (index / kChunk >= chunks_.size() || !chunks_[index / kChunk]) return nullptr;
  PageSlot& slot = slot_at(index);
  if (slot.buffer == nullptr || slot.generation != page.value >> 32U) return nullptr;
  return &slot;
}

PageSlot& Pages::get(PageHandle page, const char* what) const {
  PageSlot* slot = find(page);
  if (slot == nullptr) {
    throw Error(ErrorCode::internal,
                text("Page ", page.value, " was freed, or never made, and is used as ", what, "."));
  }
  return *slot;
}

void Pages::map(PageHandle page) {
  device_->check_alive();
  PageSlot& slot = get(page, "a page to map");
  if (slot.map == nullptr || slot.map->state.load() != HostState::unmapped) {
    throw Error(ErrorCode::internal,
                text("Page ", page.value, " cannot be mapped: it is ",
                     slot.map == nullptr ? "no staging page." : "mapped, or about to be."));
  }
  slot.map->failed.store(false);
  slot.map->state.store(HostState::mapping);
  slot.map->retain();
  WGPUBufferMapCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowProcessEvents;
  info.callback = &MapCell::on_mapped;
  info.userdata1 = slot.map;
  ErrorScopes scopes(*device_);
  device_->api().BufferMapAsync(
      slot.buffer, has(slot.use, PageUse::upload) ? WGPUMapMode_Write : WGPUMapMode_Read, 0,
      static_cast<std::size_t>(slot.bytes), info);
  // The callback tells of a failure too; a scope only keeps it from the host's callbacks.
  static_cast<void>(scopes.close());
}

HostState Pages::host_state(PageHandle page) const {
  const PageSlot& slot = get(page, "a staging page");
  return slot.map == nullptr ? HostState::unmapped
                             : slot.map->state.load(std::memory_order_acquire);
}

void Pages::check_map(PageHandle page) const {
  const PageSlot& slot = get(page, "a staging page");
  if (slot.map == nullptr || !slot.map->failed.load(std::memory_order_acquire)) return;
  device_->check_alive();
  throw Error(ErrorCode::device,
              text("Page ", page.value, " of ", slot.bytes, " bytes cannot be mapped: ",
                   slot.map->message.empty() ? "the device gives no reason." : slot.map->message));
}

std::byte* Pages::host_data(PageHandle page) const {
  PageSlot& slot = get(page, "a page of the host's");
  if (slot.map == nullptr || slot.map->state.load(std::memory_order_acquire) != HostState::mapped) {
    throw Error(ErrorCode::internal, text("Page ", page.value, " is not mapped."));
  }
  std::byte* data = slot.data.load(std::memory_order_acquire);
  if (data != nullptr) return data;
  const auto bytes = static_cast<std::size_t>(slot.bytes);
  if (has(slot.use, PageUse::upload)) {
    data = static_cast<std::byte*>(device_->api().BufferGetMappedRange(slot.buffer, 0, bytes));
  } else {
    // Read only by contract; the interface has one pointer type for both directions.
    data = static_cast<std::byte*>(
        const_cast<void*>(device_->api().BufferGetConstMappedRange(slot.buffer, 0, bytes)));
  }
  if (data == nullptr) {
    device_->check_alive();
    throw Error(ErrorCode::device,
                text("The device shows no bytes of the mapped page ", page.value, "."));
  }
  slot.data.store(data, std::memory_order_release);
  return data;
}

void Pages::unmap(PageHandle page) {
  PageSlot& slot = get(page, "a page to unmap");
  if (slot.map == nullptr || slot.map->state.load() != HostState::mapped) {
    throw Error(ErrorCode::internal, text("Page ", page.value, " is not mapped."));
  }
  slot.data.store(nullptr, std::memory_order_relaxed);
  slot.map->state.store(HostState::unmapped);
  device_->api().BufferUnmap(slot.buffer);
}

}  // namespace berth::runtime::wgpu
