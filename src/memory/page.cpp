// SPDX-License-Identifier: Apache-2.0
#include "memory/page.hpp"

#include <algorithm>

#include "berth/error.hpp"

namespace berth::memory {

const char* name_of(PoolKind pool) {
  switch (pool) {
    case PoolKind::persistent:
      return "persistent";
    case PoolKind::sliced:
      return "sliced";
    case PoolKind::exclusive:
      return "exclusive";
    case PoolKind::transient:
      return "transient";
    case PoolKind::upload:
      return "upload";
    case PoolKind::readback:
      return "readback";
    case PoolKind::uniform:
      return "uniform";
  }
  return "?";
}

std::optional<Slice> Page::try_take(Bytes bytes, Bytes alignment) {
  const std::optional<Range> range = free_.try_reserve(bytes, alignment);
  if (!range) return std::nullopt;
  live_ += bytes;
  padding_ += range->bytes - bytes;
  ++tenants_;
  return Slice{id_, range->offset, bytes, range->bytes};
}

bool Page::try_take(const Slice& slice) {
  if (slice.taken < slice.bytes || !free_.try_reserve_at(slice.taken_range())) return false;
  live_ += slice.bytes;
  padding_ += slice.taken - slice.bytes;
  ++tenants_;
  return true;
}

void Page::give(const Slice& slice) {
  if (slice.page != id_ || tenants_ == 0 || slice.bytes > live_ ||
      slice.taken - slice.bytes > padding_) {
    throw Error(ErrorCode::internal, "A slice is given back to a page that does not count it.");
  }
  free_.release(slice.taken_range());
  live_ -= slice.bytes;
  padding_ -= slice.taken - slice.bytes;
  --tenants_;
}

void Page::waste(Bytes bytes) {
  if (bytes > live_) {
    throw Error(ErrorCode::internal, "More bytes of a page are discarded than are live.");
  }
  live_ -= bytes;
  padding_ += bytes;
}

void Page::clear() {
  free_ = FreeList(bytes());
  live_ = 0;
  padding_ = 0;
  tenants_ = 0;
}

std::optional<std::string> Page::check() const {
  const std::string name = "page " + std::to_string(id_.value) + ": ";
  if (auto broken = free_.check()) return name + *broken;
  if (live_ + padding_ + free_.free_bytes() != bytes()) {
    return name + "live " + std::to_string(live_) + " + padding " + std::to_string(padding_) +
           " + free " + std::to_string(free_.free_bytes()) + " is not its size " +
           std::to_string(bytes());
  }
  if (tenants_ == 0 && !free_.all_free()) return name + "nobody holds it, but it is not all free";
  return std::nullopt;
}

PageTable::PageTable(Storage& storage, PageTableOptions options)
    : storage_(storage), options_(options) {}

PageTable::~PageTable() {
  for (const auto& [id, page] : table_) storage_.free_page(page.handle(), page.bytes());
}

Bytes PageTable::rounded(PoolKind pool, Bytes bytes) const {
  const Bytes granularity =
      pool == PoolKind::exclusive ? options_.exclusive_granularity : options_.granularity;
  const Bytes largest = align_down(storage_.max_page_bytes(), 4);
  // A page that fits only without the rounding is made without it.
  if (bytes > largest) return align_up(bytes, 4);
  return std::min(align_up(std::max<Bytes>(bytes, 4), std::max<Bytes>(granularity, 4)), largest);
}

MadePages PageTable::make(std::span<const NewPage> pages) {
  std::vector<PageRequest> requests;
  requests.reserve(pages.size());
  for (const NewPage& page : pages) {
    PageUse use = options_.tensor_use;
    if (page.pool == PoolKind::upload) use = PageUse::upload;
    if (page.pool == PoolKind::readback) use = PageUse::readback;
    if (page.pool == PoolKind::uniform) use = PageUse::uniform;
    requests.push_back({rounded(page.pool, page.bytes), use, name_of(page.pool)});
  }
  Storage::Result result = storage_.make_pages(requests);
  if (result.failure) return {{}, std::move(result.failure)};

  MadePages made;
  made.pages.reserve(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const PageId id{next_++};
    const auto pool = static_cast<std::size_t>(pages[i].pool);
    Page& page =
        table_.try_emplace(id, id, result.pages[i], requests[i].bytes, pages[i].pool).first->second;
    by_pool_[pool].push_back(&page);
    reserved_[pool] += page.bytes();
    made.pages.push_back(id);
  }
  return made;
}

MadePages PageTable::make_growing(PoolKind pool, Bytes bytes, Bytes full, Bytes least, Bytes most) {
  const NewPage wanted{pool, std::max(std::clamp(full, least, most), bytes)};
  MadePages made = make({&wanted, 1});
  if (made.ok() || rounded(pool, bytes) >= rounded(pool, wanted.bytes)) return made;
  const NewPage needed{pool, bytes};
  return make({&needed, 1});
}

void PageTable::free(PageId id) {
  Page& page = at(id);
  if (!page.idle()) {
    throw Error(ErrorCode::internal,
                "Page " + std::to_string(id.value) + " is freed while somebody holds it.");
  }
  const auto pool = static_cast<std::size_t>(page.pool());
  reserved_[pool] -= page.bytes();
  std::erase(by_pool_[pool], &page);
  storage_.free_page(page.handle(), page.bytes());
  table_.erase(id);
  ++pages_freed_;
}

const Page* PageTable::find(PageId page) const {
  const auto found = table_.find(page);
  return found == table_.end() ? nullptr : &found->second;
}

Page* PageTable::find(PageId page) {
  const auto found = table_.find(page);
  return found == table_.end() ? nullptr : &found->second;
}

const Page& PageTable::at(PageId page) const {
  if (const Page* found = find(page)) return *found;
  throw Error(ErrorCode::internal, "Page " + std::to_string(page.value) + " does not exist.");
}

Page& PageTable::at(PageId page) {
  if (Page* found = find(page)) return *found;
  throw Error(ErrorCode::internal, "Page " + std::to_string(page.value) + " does not exist.");
}

std::optional<std::string> PageTable::check() const {
  Bytes sum = 0;
  std::array<Bytes, kPoolKinds> by_pool{};
  for (const auto& [id, page] : table_) {
    if (auto broken = page.check()) return broken;
    sum += page.bytes();
    by_pool[static_cast<std::size_t>(page.pool())] += page.bytes();
  }
  if (by_pool != reserved_) return "the pools' reserved bytes are not those of their pages";
  std::size_t listed = 0;
  for (const auto& pages : by_pool_) listed += pages.size();
  if (listed != table_.size()) return "a page is in no pool, or in two";
  if (sum != storage_.reserved()) {
    return "pages hold " + std::to_string(sum) + " bytes, storage counts " +
           std::to_string(storage_.reserved());
  }
  return std::nullopt;
}

}  // namespace berth::memory
