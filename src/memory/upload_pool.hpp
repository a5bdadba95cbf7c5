// SPDX-License-Identifier: Apache-2.0
//
// Staging for uploads. Data is copied at the call into a mapped page; a page goes round as a whole:
//
//   mapped --close--> unmapped, holds data --all of it submitted--> mapping --> mapped, empty
//
// Only pages that are neither mapped nor mapping enter a submission. The bytes of all pages stay
// within a budget of their own. One thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/host_pages.hpp"
#include "memory/page.hpp"

namespace berth::memory {

struct StagingOptions {
  /// Of all upload pages; rounded down to whole smallest pages, and at least one of them.
  Bytes budget = 64 * kMiB;
  Bytes alignment = 16;  ///< of staged data
  /// A new page is as large as all pages of the pool so far, within these two and never below what
  /// is needed.
  Bytes least_page = 64 * kKiB;
  Bytes most_page = 4 * kMiB;
};

/// Room in a staging page; or the staging budget is used up for now; or why there is none.
struct Staged {
  enum class Status : std::uint8_t {
    ready,      ///< `slice` is there
    must_wait,  ///< over the staging budget: submit what is staged, wait_for_room(), call again
    failed,     ///< `failure` says why
  };
  Status status = Status::ready;
  Slice slice;
  PageId made;  ///< valid if a page was made for it
  std::optional<StorageFailure> failure;
};

class UploadPool {
 public:
  UploadPool(PageTable& table, HostPages& host, StagingOptions options);

  /// Copies data into a mapped page. Larger data than largest_piece() fails: split it before.
  /// Never waits. After must_wait, submitting all that is staged and wait_for_room() always helps.
  [[nodiscard]] Staged write(std::span<const std::byte> data);
  [[nodiscard]] Bytes largest_piece() const;

  /// The pages of this data are about to enter a submission: takes them from the host. May be
  /// called again for the same data if the submission failed.
  void close(std::span<const Slice> staged);
  /// The data was submitted. A page whose data has all been submitted comes back by itself.
  void submitted(std::span<const Slice> staged);
  /// The data will never be submitted.
  void discard(std::span<const Slice> staged);

  /// Notices pages that came back. Never waits.
  void pump();
  /// Waits until a page comes back. Returns: false at once if none is on its way: submit first.
  [[nodiscard]] bool wait_for_room();
  /// Staged and not yet submitted or discarded.
  [[nodiscard]] Bytes pending_bytes() const;
  /// An empty page is about to be freed.
  void forget(PageId page);

  [[nodiscard]] std::optional<std::string> check() const;

 private:
  enum class State : std::uint8_t { mapped, closed, mapping };
  struct Entry {
    Page* page = nullptr;
    State state = State::mapped;
    Bytes used = 0;     // data lies in [0, used)
    Bytes pending = 0;  // asked bytes, neither submitted nor discarded
    std::uint32_t pending_slices = 0;
  };

  [[nodiscard]] Entry& entry_of(PageId page);
  [[nodiscard]] Entry* with_room(Bytes bytes);
  [[nodiscard]] Slice put(Entry& entry, std::span<const std::byte> data);
  [[nodiscard]] bool free_small_pages_for(Bytes bytes);
  void settle(Entry& entry);

  PageTable& table_;
  HostPages& host_;
  StagingOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace berth::memory
