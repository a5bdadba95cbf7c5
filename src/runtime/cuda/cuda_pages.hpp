// SPDX-License-Identifier: Apache-2.0
//
// Pages: device memory, and pinned host memory for staging, behind PageHandles. Device pages are
// allocated, filled with zeros and freed in the order of the device's stream, so a free waits for
// nobody; staging pages are always addressable, and "mapped" only says that the submissions that
// use them are done. The table guards itself.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "memory/storage.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace berth::runtime::cuda {

/// Where device pages come from.
enum class PageWay : std::uint8_t {
  automatic,       ///< stream_ordered where the device can
  stream_ordered,  ///< a memory pool of berth's own, which keeps nothing that was freed
  direct,          ///< cuMemAlloc, whose free waits for the whole device
};

struct PageSlot {
  CUdeviceptr address = 0;    ///< of device pages
  std::byte* host = nullptr;  ///< of staging pages
  Bytes bytes = 0;
  memory::PageUse use = memory::PageUse::storage;
  std::uint64_t last_use = 0;  ///< ticket
  HostState state = HostState::unmapped;
};

class Pages {
 public:
  /// Errors: Error(device) if the pool cannot be made.
  Pages(std::shared_ptr<const Device> device, PageWay way);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  /// Frees all pages; submitted work is done, or the device lost.
  ~Pages();

  [[nodiscard]] memory::PageSource::Made make(const memory::PageRequest& request);
  void free(memory::PageHandle page) noexcept;
  /// A copy of what is known. Errors: Error(internal) if it was freed; `what` names the use.
  [[nodiscard]] PageSlot get(memory::PageHandle page, const char* what) const;
  void used_by(memory::PageHandle page, std::uint64_t ticket);

  // Staging. `done` is the last ticket that is done.
  void map(memory::PageHandle page);
  [[nodiscard]] HostState host_state(memory::PageHandle page, std::uint64_t done) const;
  [[nodiscard]] std::byte* host_data(memory::PageHandle page, std::uint64_t done) const;
  void unmap(memory::PageHandle page, std::uint64_t done);

 private:
  [[nodiscard]] CUresult allocate(PageSlot& slot) const;
  void release(const PageSlot& slot) const noexcept;
  /// What was freed is really given back. Waits for the stream.
  void settle_frees() const;
  [[nodiscard]] const PageSlot& at_locked(memory::PageHandle page, const char* what) const;

  std::shared_ptr<const Device> device_;
  CUmemoryPool pool_ = nullptr;  // null: cuMemAlloc
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, PageSlot> slots_;
  std::uint64_t next_ = 1;
};

}  // namespace berth::runtime::cuda
