// SPDX-License-Identifier: Apache-2.0
//
// Who owns which bytes: the table of tensors and their places, the pools, and transactions, so that
// a window that fails leaves no trace. Decides no placement of a planned window (the planner does),
// knows no backend, submits nothing. One thread at a time (the owner's lock).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/report.hpp"
#include "berth/units.hpp"
#include "memory/exclusive_pool.hpp"
#include "memory/host_pages.hpp"
#include "memory/page.hpp"
#include "memory/readback_pool.hpp"
#include "memory/sliced_pool.hpp"
#include "memory/storage.hpp"
#include "memory/transient_pool.hpp"
#include "memory/uniform_pool.hpp"
#include "memory/upload_pool.hpp"

namespace berth::memory {

struct TensorSlotTag;
/// A tensor in the manager's table; used again once dropped.
using TensorSlot = Id<TensorSlotTag>;

struct ManagerOptions {
  /// Where map() puts tensors: PoolKind::sliced or PoolKind::exclusive.
  PoolKind mapped_to = PoolKind::sliced;
  Growth growth = Growth::replace;
  PageTableOptions pages;
  SlicedOptions sliced;
  StagingOptions staging;
  ReadbackOptions readback;
  UniformOptions uniform;
};

class Manager;

/// Everything done to the manager while it lives is undone when it ends, unless it is committed.
/// One at a time.
class Transaction {
 public:
  explicit Transaction(Manager& manager);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  /// The window was submitted as `ticket` and uses these pages: they are not freed before it is
  /// done. Lent pages and uniform room stay taken.
  void commit(std::span<const PageId> used, std::uint64_t ticket);
  /// Nothing was submitted, but what was done stays.
  void commit() { commit({}, 0); }

 private:
  Manager* manager_;
};

class Manager {
 public:
  /// `storage` and `host` must outlive it.
  Manager(Storage& storage, HostPages& host, const ManagerOptions& options);

  // Tensors. All of them keep to the transaction that is open, except drop().

  /// A tensor without memory. Units: bytes, not zero.
  [[nodiscard]] TensorSlot add(Bytes bytes);
  /// Releases the tensor's slice and its slot. Errors: Error(internal) inside a transaction.
  void drop(TensorSlot tensor);
  [[nodiscard]] Bytes bytes_of(TensorSlot tensor) const { return at(tensor).bytes; }
  /// Where it lies, if it is mapped.
  [[nodiscard]] const std::optional<Slice>& place_of(TensorSlot tensor) const {
    return at(tensor).place;
  }

  /// A slice that belongs to no tensor, never on an excluded page. `pool` is persistent, sliced or
  /// exclusive.
  [[nodiscard]] Reserved reserve(Bytes bytes, PoolKind pool, std::span<const PageId> excluded = {});
  void release(const Slice& slice);

  /// Gives an unmapped tensor memory: reserve() that never answers with an excluded page.
  [[nodiscard]] Reserved map(TensorSlot tensor, std::span<const PageId> excluded);
  /// Releases the tensor's slice; the tensor stays. Nothing happens if it has none.
  void unmap(TensorSlot tensor);

  // Planned windows. In this order: unmap what dies or moves in the window, make pages, set places.

  /// New pages of least these sizes, all or none. They are idle until something is placed there.
  [[nodiscard]] MadePages make_pages(std::span<const NewPage> pages);
  /// Maps an unmapped tensor to a place on a persistent or sliced page. It takes its bytes rounded
  /// up to `alignment`, up to the page's end.
  /// Errors: Error(internal) if not all of these bytes are free: a defect of the plan.
  void set_place(TensorSlot tensor, PageId page, Bytes offset, Bytes alignment = 4);
  /// Whole pages for the window's transients; see TransientPool::lend.
  [[nodiscard]] LentPages lend(std::span<const Bytes> extents);
  [[nodiscard]] bool try_lend(std::span<const Lent> pages);
  /// The window is submitted (or given up, outside a transaction): its pages may be lent again.
  void give_back(std::span<const Lent> pages);
  /// Room for the window's uniform blocks; after the submission call uniforms().submitted().
  [[nodiscard]] Reserved reserve_uniforms(Bytes bytes);
  /// Room for a result of the window; after the submission call readbacks().seal().
  [[nodiscard]] Reserved reserve_readback(Bytes bytes);

  [[nodiscard]] UploadPool& uploads() { return upload_; }
  [[nodiscard]] ReadbackPool& readbacks() { return readback_; }
  [[nodiscard]] UniformPool& uniforms() { return uniform_; }

  // Pages.

  /// All pages of a pool, in the order they were made: bytes, free ranges, idle or not.
  [[nodiscard]] std::span<Page* const> pages(PoolKind pool) const { return table_.pages(pool); }
  [[nodiscard]] const Page* find(PageId page) const { return table_.find(page); }
  [[nodiscard]] PageHandle handle_of(PageId page) const { return table_.at(page).handle(); }
  /// Pages freed so far. Unchanged means that every page seen before still exists.
  [[nodiscard]] std::uint64_t pages_freed() const { return table_.pages_freed(); }

  /// Gives pages that nobody holds back, the largest first, until at most `keep` bytes of them are
  /// left. Pages that submitted work still uses stay: wait for it first. Never waits.
  /// Returns: bytes given back. Errors: Error(internal) inside a transaction.
  Bytes trim(Bytes keep);
  /// Frees replaced pages and recycles staging whose work is done. Every transaction begins with
  /// it.
  void pump();

  /// One report per pool that has pages. live + idle + padding == reserved for each, exactly, and
  /// their sum is Storage::reserved().
  [[nodiscard]] std::vector<PoolReport> reports() const;

  /// Walks the invariants of all pools and tensors. Returns: the first one that does not hold.
  /// `anonymous`: how many slices reserve() handed out that were not released.
  [[nodiscard]] std::optional<std::string> check(std::size_t anonymous = 0) const;

 private:
  friend class Transaction;

  struct Tensor {
    Bytes bytes = 0;
    std::optional<Slice> place;
    bool used = false;
  };
  /// What was done, to be undone in reverse.
  struct Done {
    enum class What : std::uint8_t {
      added,
      placed,
      unplaced,
      reserved,
      released,
      made,
      lent,
      given_back,
      uniform,
      readback
    };
    What what;
    TensorSlot tensor;
    Slice slice;
    PageId page;
  };

  [[nodiscard]] const Tensor& at(TensorSlot tensor) const;
  [[nodiscard]] Tensor& at(TensorSlot tensor);
  void note(Done::What what, TensorSlot tensor, const Slice& slice, PageId page);
  void undo(const Done& done);
  void rollback() noexcept;
  void commit(std::span<const PageId> used, std::uint64_t ticket);
  void free_replaced();
  void note_lent(std::span<const Lent> pages);
  [[nodiscard]] Reserved reserve_from(PoolKind pool, Bytes bytes, std::span<const PageId> excluded);
  void give(const Slice& slice);
  void retake(const Slice& slice);
  void free_page(PageId page);

  HostPages& host_;
  PageTable table_;
  SlicedPool persistent_;
  SlicedPool sliced_;
  ExclusivePool exclusive_;
  TransientPool transient_;
  UploadPool upload_;
  ReadbackPool readback_;
  UniformPool uniform_;
  PoolKind mapped_to_;
  Growth growth_;

  std::vector<Tensor> tensors_;
  std::vector<TensorSlot> unused_slots_;
  bool in_transaction_ = false;
  std::vector<Done> journal_;
  std::vector<PageId> replaced_;  // by the transaction that is open
  std::vector<PageId> retiring_;  // replaced; to be freed once their last use is done
};

}  // namespace berth::memory
