// SPDX-License-Identifier: Apache-2.0
//
// The pages of a CPU runtime: host memory, and for staging pages whether the host may touch them.
// The table guards itself; what a page holds is guarded by the order of submissions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/backend.hpp"

namespace berth::runtime::reference {

/// What bytes of a new page hold.
enum class Fill : std::uint8_t {
  zeros,
  poison,  ///< strict: nobody wrote them, and it shows
};
inline constexpr std::byte kPagePoison{0xDB};

/// One page. Its bytes begin at a multiple of 4096.
struct PageMemory {
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  memory::PageHandle handle;
  std::unique_ptr<void, Free> block;
  std::byte* data = nullptr;
  Bytes bytes = 0;
  memory::PageUse use = memory::PageUse::storage;
  HostState host = HostState::unmapped;
  std::uint64_t last_use = 0;           ///< ticket
  std::vector<std::uint8_t> written{};  ///< strict only: per byte, 1 = somebody wrote it
};

class Pages {
 public:
  explicit Pages(Fill fill) : fill_(fill) {}

  [[nodiscard]] memory::PageSource::Made make(const memory::PageRequest& request, Bytes limit);
  void free(memory::PageHandle page) noexcept;
  /// The page, or nullptr. Valid until it is freed.
  [[nodiscard]] PageMemory* find(memory::PageHandle page) const;
  /// Errors: Error(internal) if it does not exist.
  [[nodiscard]] PageMemory& at(memory::PageHandle page) const;

  // Host access. `done` is the last ticket that is done.
  void map(memory::PageHandle page);
  void unmap(memory::PageHandle page, std::uint64_t done);
  [[nodiscard]] HostState host_state(memory::PageHandle page, std::uint64_t done) const;
  [[nodiscard]] std::byte* host_data(memory::PageHandle page, std::uint64_t done) const;
  /// Errors: Error(internal) if the host has the page, or asked for it.
  void check_unmapped(memory::PageHandle page) const;
  /// A submission uses the page.
  void use(memory::PageHandle page, std::uint64_t ticket);
  [[nodiscard]] std::uint64_t last_use(memory::PageHandle page) const;

 private:
  [[nodiscard]] PageMemory* find_locked(memory::PageHandle page) const;
  [[nodiscard]] PageMemory& at_locked(memory::PageHandle page) const;

  Fill fill_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::unique_ptr<PageMemory>> pages_;
  std::uint64_t next_ = 1;
};

}  // namespace berth::runtime::reference
