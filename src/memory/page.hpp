// SPDX-License-Identifier: Apache-2.0
//
// Pages and the table of them. A page is a device buffer plus exact bookkeeping of its bytes:
// live + padding + idle == bytes, always. Who holds which slice is the pools' and the manager's
// affair. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/units.hpp"
#include "memory/free_list.hpp"
#include "memory/storage.hpp"

namespace berth::memory {

struct PageTag;
/// A page of the table. Never reused, so a cache may keep it and ask whether it still exists.
using PageId = Id<PageTag>;

/// Pages of one policy.
enum class PoolKind : std::uint8_t {
  persistent,  ///< long-lived tensors of planned windows, in slices
  sliced,      ///< tensors of the policy per_task, in slices
  exclusive,   ///< one page per tensor
  transient,   ///< whole pages, lent to one window
  upload,      ///< staging, host to device
  readback,    ///< staging, device to host
  uniform,     ///< uniform blocks of windows
};
inline constexpr std::size_t kPoolKinds = 7;
[[nodiscard]] const char* name_of(PoolKind pool);

/// Bytes of a page that somebody holds.
struct Slice {
  PageId page;
  Bytes offset = 0;
  Bytes bytes = 0;  ///< asked for
  Bytes taken = 0;  ///< with the padding that came along; not below `bytes`
  [[nodiscard]] bool valid() const { return page.valid(); }
  [[nodiscard]] Range taken_range() const { return {offset, taken}; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// A slice, or why there is none.
struct Reserved {
  Slice slice;
  PageId made;  ///< valid if a page was made for it
  std::optional<StorageFailure> failure;
  [[nodiscard]] bool ok() const { return !failure; }
};

class Page {
 public:
  Page(PageId id, PageHandle handle, Bytes bytes, PoolKind pool)
      : id_(id), handle_(handle), pool_(pool), free_(bytes) {}

  [[nodiscard]] PageId id() const { return id_; }
  [[nodiscard]] PageHandle handle() const { return handle_; }
  [[nodiscard]] PoolKind pool() const { return pool_; }
  [[nodiscard]] Bytes bytes() const { return free_.bytes(); }
  [[nodiscard]] const FreeList& free() const { return free_; }
  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] Bytes padding() const { return padding_; }
  [[nodiscard]] std::uint32_t tenants() const { return tenants_; }
  /// Nobody holds a byte of it. Submitted work may still use it: see last_use().
  [[nodiscard]] bool idle() const { return tenants_ == 0; }
  /// The last submission that uses it; 0 = none. It may be freed only once that is done.
  [[nodiscard]] std::uint64_t last_use() const { return last_use_; }
  void used_by(std::uint64_t ticket) { last_use_ = ticket; }

  /// A slice at the best fit, or nothing.
  [[nodiscard]] std::optional<Slice> try_take(Bytes bytes, Bytes alignment);
  /// Takes exactly these bytes. Returns: false, and nothing changes, unless all are free.
  [[nodiscard]] bool try_take(const Slice& slice);
  /// Errors: Error(internal) if the slice is not taken.
  void give(const Slice& slice);
  /// Counts `bytes` of a slice as padding from now on (staged data that was discarded).
  void waste(Bytes bytes);
  /// Frees all of it, whoever holds it (a staging page whose contents are done with).
  void clear();

  /// Walks the invariants. Returns: the first one that does not hold.
  [[nodiscard]] std::optional<std::string> check() const;

 private:
  PageId id_;
  PageHandle handle_;
  PoolKind pool_;
  FreeList free_;
  Bytes live_ = 0;
  Bytes padding_ = 0;
  std::uint32_t tenants_ = 0;
  std::uint64_t last_use_ = 0;
};

/// A page to be made.
struct NewPage {
  PoolKind pool = PoolKind::persistent;
  Bytes bytes = 0;  ///< least size; rounded up to the pool's granularity
};

/// Pages, or why there are none.
struct MadePages {
  std::vector<PageId> pages;
  std::optional<StorageFailure> failure;
  [[nodiscard]] bool ok() const { return !failure; }
};

struct PageTableOptions {
  Bytes granularity = 64 * kKiB;  ///< pages are made in multiples of this
  /// The same for exclusive pages: one buffer per tensor is measured fairly only near its size.
  Bytes exclusive_granularity = 256;
  /// What pages for tensors are made for.
  PageUse tensor_use = PageUse::storage;
};

class PageTable {
 public:
  PageTable(Storage& storage, PageTableOptions options);
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;
  /// Frees every page.
  ~PageTable();

  /// Makes all or none. Returns: ids in the order of the requests.
  [[nodiscard]] MadePages make(std::span<const NewPage> pages);
  /// Makes one page as large as `full`, the pages that had no room, but within [least, most] and
  /// never below `bytes`: few pages, and at most about half of them empty. If that cannot be made,
  /// one of the size needed is tried.
  [[nodiscard]] MadePages make_growing(PoolKind pool, Bytes bytes, Bytes full, Bytes least,
                                       Bytes most);
  /// Precondition: no submitted work uses it. Errors: Error(internal) if it is held or not there.
  void free(PageId page);

  /// The size a page is made with for at least `bytes`.
  [[nodiscard]] Bytes rounded(PoolKind pool, Bytes bytes) const;
  [[nodiscard]] Page* find(PageId page);
  [[nodiscard]] const Page* find(PageId page) const;
  /// Errors: Error(internal) if it is not there.
  [[nodiscard]] Page& at(PageId page);
  [[nodiscard]] const Page& at(PageId page) const;
  /// In the order they were made.
  [[nodiscard]] std::span<Page* const> pages(PoolKind pool) const {
    return by_pool_[static_cast<std::size_t>(pool)];
  }
  [[nodiscard]] Bytes reserved(PoolKind pool) const {
    return reserved_[static_cast<std::size_t>(pool)];
  }
  [[nodiscard]] Storage& storage() { return storage_; }
  [[nodiscard]] const Storage& storage() const { return storage_; }
  /// Pages freed so far: unchanged means that every page seen before still exists.
  [[nodiscard]] std::uint64_t pages_freed() const { return pages_freed_; }

  [[nodiscard]] std::optional<std::string> check() const;

 private:
  Storage& storage_;
  PageTableOptions options_;
  std::map<PageId, Page> table_;  // nodes: the pools keep pointers
  std::array<std::vector<Page*>, kPoolKinds> by_pool_;
  std::array<Bytes, kPoolKinds> reserved_{};
  std::uint32_t next_ = 0;
  std::uint64_t pages_freed_ = 0;
};

[[nodiscard]] inline bool contains(std::span<const PageId> pages, PageId page) {
  for (const PageId other : pages) {
    if (other == page) return true;
  }
  return false;
}

}  // namespace berth::memory
