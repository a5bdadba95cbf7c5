// SPDX-License-Identifier: Apache-2.0
//
// Pages: device buffers behind PageHandles. Makes them inside error scopes, destroys one only when
// no submitted work uses it and no map is under way (wgpu-native ends the process otherwise), and
// keeps the host's state of staging pages. Decides nothing about when. Making, freeing and mapping
// are for one thread at a time (the submission lock); the rest is safe from any thread.
#pragma once

#include <webgpu/webgpu.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/storage.hpp"
#include "runtime/backend.hpp"
#include "runtime/wgpu/wgpu_device.hpp"

namespace berth::runtime::wgpu {

/// What a map callback writes to; outlives its page while a callback is due.
class MapCell {
 public:
  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void* cell,
                        void* unused);

  std::atomic<HostState> state{HostState::unmapped};
  std::atomic<bool> failed{false};
  std::string message;  ///< why it failed; written before `failed`

 private:
  ~MapCell() = default;
  std::atomic<std::uint32_t> owners_{1};
};

struct PageSlot {
  WGPUBuffer buffer = nullptr;
  Bytes bytes = 0;
  memory::PageUse use = memory::PageUse::storage;
  std::uint32_t generation = 0;
  std::uint64_t last_use = 0;  ///< ticket of the last submission that uses it
  MapCell* map = nullptr;      ///< of staging pages
  std::atomic<std::byte*> data{nullptr};
};

class Pages {
 public:
  explicit Pages(std::shared_ptr<Device> device);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  /// Gives all pages up.
  ~Pages();

  [[nodiscard]] memory::PageSource::Made make(const memory::PageRequest& request);
  void free(memory::PageHandle page) noexcept;
  /// Destroys what was freed and is no longer in use.
  /// Returns: how many.
  std::size_t sweep() noexcept;

  /// The page, or nullptr if it was freed.
  [[nodiscard]] PageSlot* find(memory::PageHandle page) const;
  /// Errors: Error(internal) if it was freed; `what` names the use.
  [[nodiscard]] PageSlot& get(memory::PageHandle page, const char* what) const;

  // Staging pages.
  void map(memory::PageHandle page);
  [[nodiscard]] HostState host_state(memory::PageHandle page) const;
  /// Throws Error(device) if the last map failed.
  void check_map(memory::PageHandle page) const;
  [[nodiscard]] std::byte* host_data(memory::PageHandle page) const;
  void unmap(memory::PageHandle page);

 private:
  struct Zombie {
    WGPUBuffer buffer;
    std::uint64_t last_use;
    MapCell* map;
  };
  // Slots never move: host_data() may look one up while another thread makes a page.
  static constexpr std::size_t kChunk = 256;
  using Chunk = std::array<PageSlot, kChunk>;

  [[nodiscard]] PageSlot& slot_at(std::uint32_t index) const {
    return (*chunks_[index / kChunk])[index % kChunk];
  }
  [[nodiscard]] std::uint32_t take_slot();
  [[nodiscard]] std::optional<memory::StorageFailure> make_buffer(
      const memory::PageRequest& request, WGPUBuffer& buffer);
  [[nodiscard]] bool finished(const Zombie& zombie) const;
  void destroy(const Zombie& zombie) noexcept;

  std::shared_ptr<Device> device_;
  std::array<std::unique_ptr<Chunk>, 4096> chunks_;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::mutex zombies_mutex_;
  std::vector<Zombie> zombies_;
};

}  // namespace berth::runtime::wgpu
