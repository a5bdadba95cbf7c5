// SPDX-License-Identifier: Apache-2.0
//
// Staging for results. Room is taken for one submission, then the page goes round as a whole:
//
//   free --reserve--> open --seal--> mapping --> mapped: the host reads --all released--> free
//
// A page serves one submission, so no page that is mapped or mapping enters another one. One thread
// at a time; the bytes that data() answers may be read without the lock until release().
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/host_pages.hpp"
#include "memory/page.hpp"

namespace berth::memory {

struct ReadbackOptions {
  Bytes alignment = 16;
  /// Sizes of new pages: see PageTable::make_growing.
  Bytes least_page = 64 * kKiB;
  Bytes most_page = 4 * kMiB;
};

class ReadbackPool {
 public:
  ReadbackPool(PageTable& table, HostPages& host, ReadbackOptions options)
      : table_(table), host_(host), options_(options) {}

  /// Room for one result of the submission that is being put together.
  [[nodiscard]] Reserved reserve(Bytes bytes);
  /// The submission was made: asks for the host's access to all pages it was given.
  void seal();
  /// The submission was not made (before seal()).
  void cancel(const Slice& room);

  /// True once data() is valid. Never waits.
  [[nodiscard]] bool ready(const Slice& room);
  void wait(const Slice& room);
  /// The result's bytes; valid from ready() to release().
  [[nodiscard]] std::span<const std::byte> data(const Slice& room);
  /// The result is not needed any more; allowed before it is ready.
  void release(const Slice& room);

  /// Notices pages whose results were released before they were ready. Never waits.
  void pump();
  /// An empty page is about to be freed.
  void forget(PageId page);

  [[nodiscard]] std::optional<std::string> check() const;

 private:
  enum class State : std::uint8_t { open, mapping, mapped };
  struct Entry {
    Page* page = nullptr;
    State state = State::open;  // open and not used = free
    Bytes used = 0;
    std::uint32_t results = 0;
  };

  [[nodiscard]] Entry& entry_of(PageId page);
  [[nodiscard]] Slice put(Entry& entry, Bytes bytes);
  void settle(Entry& entry);

  PageTable& table_;
  HostPages& host_;
  ReadbackOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace berth::memory
