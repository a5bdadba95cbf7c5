// SPDX-License-Identifier: Apache-2.0
#include "memory/exclusive_pool.hpp"

#include <algorithm>

#include "berth/error.hpp"

namespace berth::memory {

namespace {

bool smaller(const Page* a, const Page* b) {
  return a->bytes() != b->bytes() ? a->bytes() < b->bytes() : a->id() < b->id();
}

Slice whole(const Page& page, Bytes bytes) { return {page.id(), 0, bytes, page.bytes()}; }

}  // namespace

Reserved ExclusivePool::reserve(Bytes bytes, std::span<const PageId> excluded) {
  const Bytes least = table_.rounded(PoolKind::exclusive, bytes);
  const Bytes most = least + least / 4;
  auto page = std::ranges::lower_bound(idle_, least, {}, &Page::bytes);
  while (page != idle_.end() && (*page)->bytes() <= most && contains(excluded, (*page)->id())) {
    ++page;
  }
  if (page != idle_.end() && (*page)->bytes() <= most) {
    const Slice slice = whole(**page, bytes);
    if (!(*page)->try_take(slice)) {
      throw Error(ErrorCode::internal, "An idle page of the exclusive pool is not free.");
    }
    idle_.erase(page);
    return {slice, {}, {}};
  }

  const NewPage wanted{PoolKind::exclusive, bytes};
  MadePages made = table_.make({&wanted, 1});
  if (!made.ok()) return {{}, {}, std::move(made.failure)};
  Page& fresh = table_.at(made.pages.front());
  const Slice slice = whole(fresh, bytes);
  if (!fresh.try_take(slice)) throw Error(ErrorCode::internal, "A new page is not free.");
  return {slice, fresh.id(), {}};
}

void ExclusivePool::release(const Slice& slice) {
  Page& page = table_.at(slice.page);
  page.give(slice);
  idle_.insert(std::ranges::lower_bound(idle_, &page, smaller), &page);
}

bool ExclusivePool::try_retake(const Slice& slice) {
  if (!table_.at(slice.page).try_take(slice)) return false;
  forget(slice.page);
  return true;
}

void ExclusivePool::forget(PageId page) {
  std::erase_if(idle_, [page](const Page* p) { return p->id() == page; });
}

std::optional<std::string> ExclusivePool::check() const {
  std::size_t idle = 0;
  for (const Page* page : table_.pages(PoolKind::exclusive)) {
    if (page->tenants() > 1) return "an exclusive page has two tenants";
    idle += page->idle() ? 1 : 0;
  }
  if (idle != idle_.size()) return "the exclusive pool's idle list misses a page";
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    if (!idle_[i]->idle()) return "the exclusive pool's idle list names a page that is held";
    if (i != 0 && !smaller(idle_[i - 1], idle_[i])) return "the idle list is not sorted";
  }
  return std::nullopt;
}

}  // namespace berth::memory
