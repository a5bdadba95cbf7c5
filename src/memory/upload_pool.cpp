// SPDX-License-Identifier: Apache-2.0
#include "memory/upload_pool.hpp"

#include <algorithm>
#include <cstring>

#include "berth/error.hpp"

namespace berth::memory {

UploadPool::UploadPool(PageTable& table, HostPages& host, StagingOptions options)
    : table_(table), host_(host), options_(options) {
  const Bytes smallest = table_.rounded(PoolKind::upload, 4);
  options_.budget = std::max(smallest, align_down(options_.budget, smallest));
}

Bytes UploadPool::largest_piece() const {
  return align_down(std::min(options_.budget, table_.storage().max_page_bytes()), 4);
}

Staged UploadPool::write(std::span<const std::byte> data) {
  pump();
  const Bytes bytes = data.size();
  if (bytes > largest_piece()) {
    return {Staged::Status::failed,
            {},
            {},
            StorageFailure{StorageFailure::Kind::never_fits, bytes, largest_piece(),
                           "Uploading " + std::to_string(bytes) +
                               " bytes in one piece never fits: staging holds at most " +
                               std::to_string(largest_piece()) + " bytes."}};
  }
  if (Entry* entry = with_room(bytes)) return {Staged::Status::ready, put(*entry, data), {}, {}};

  const Bytes reserved = table_.reserved(PoolKind::upload);
  Bytes size = table_.rounded(
      PoolKind::upload,
      std::max(std::clamp(reserved, options_.least_page, options_.most_page), bytes));
  if (reserved > options_.budget || size > options_.budget - reserved) {
    size = table_.rounded(PoolKind::upload, bytes);  // rather the size needed than none
    if (!free_small_pages_for(size)) return {Staged::Status::must_wait, {}, {}, {}};
  }
  const NewPage wanted{PoolKind::upload, size};
  MadePages made = table_.make({&wanted, 1});
  if (!made.ok()) return {Staged::Status::failed, {}, {}, std::move(made.failure)};
  entries_.push_back({&table_.at(made.pages.front()), State::mapped, 0, 0, 0});
  return {Staged::Status::ready, put(entries_.back(), data), made.pages.front(), {}};
}

UploadPool::Entry* UploadPool::with_room(Bytes bytes) {
  Entry* best = nullptr;  // the fullest page that has room: others stay whole
  for (Entry& entry : entries_) {
    if (entry.state != State::mapped) continue;
    const Bytes at = align_up(entry.used, options_.alignment);
    if (at > entry.page->bytes() || bytes > entry.page->bytes() - at) continue;
    if (best == nullptr || entry.page->bytes() - entry.used < best->page->bytes() - best->used) {
      best = &entry;
    }
  }
  return best;
}

Slice UploadPool::put(Entry& entry, std::span<const std::byte> data) {
  const Bytes at = align_up(entry.used, options_.alignment);
  const Bytes bytes = data.size();
  // The gap before the data counts as its padding, so that used bytes are one range.
  const Slice held{entry.page->id(), entry.used, bytes, at + bytes - entry.used};
  if (!entry.page->try_take(held)) {
    throw Error(ErrorCode::internal, "The free end of a staging page is not free.");
  }
  if (bytes != 0) std::memcpy(host_.data(entry.page->handle()) + at, data.data(), data.size());
  entry.used = at + bytes;
  entry.pending += bytes;
  ++entry.pending_slices;
  return {entry.page->id(), at, bytes, bytes};
}

bool UploadPool::free_small_pages_for(Bytes bytes) {
  while (table_.reserved(PoolKind::upload) > options_.budget - bytes) {
    const auto empty = std::ranges::find_if(entries_, [](const Entry& entry) {
      return entry.state == State::mapped && entry.used == 0;
    });
    if (empty == entries_.end()) return false;
    const PageId page = empty->page->id();
    entries_.erase(empty);
    table_.free(page);
  }
  return true;
}

UploadPool::Entry& UploadPool::entry_of(PageId page) {
  for (Entry& entry : entries_) {
    if (entry.page->id() == page) return entry;
  }
  throw Error(ErrorCode::internal,
              "Page " + std::to_string(page.value) + " is no page of the upload pool.");
}

void UploadPool::close(std::span<const Slice> staged) {
  for (const Slice& slice : staged) {
    Entry& entry = entry_of(slice.page);
    if (entry.state != State::mapped) continue;
    host_.unmap(entry.page->handle());
    entry.state = State::closed;
  }
}

void UploadPool::submitted(std::span<const Slice> staged) {
  for (const Slice& slice : staged) {
    Entry& entry = entry_of(slice.page);
    if (entry.state != State::closed || entry.pending_slices == 0) {
      throw Error(ErrorCode::internal, "Staged data is submitted twice, or was not closed.");
    }
    entry.pending -= slice.bytes;
    --entry.pending_slices;
    settle(entry);
  }
}

void UploadPool::discard(std::span<const Slice> staged) {
  for (const Slice& slice : staged) {
    Entry& entry = entry_of(slice.page);
    if (entry.pending_slices == 0) {
      throw Error(ErrorCode::internal, "Staged data is discarded twice.");
    }
    entry.pending -= slice.bytes;
    --entry.pending_slices;
    entry.page->waste(slice.bytes);
    settle(entry);
  }
}

void UploadPool::settle(Entry& entry) {
  if (entry.pending_slices != 0) return;
  if (entry.state == State::mapped) {
    entry.page->clear();
    entry.used = 0;
  } else {
    host_.map(entry.page->handle());
    entry.state = State::mapping;
  }
}

void UploadPool::pump() {
  for (Entry& entry : entries_) {
    if (entry.state != State::mapping || !host_.mapped(entry.page->handle())) continue;
    entry.page->clear();
    entry.used = 0;
    entry.state = State::mapped;
  }
}

bool UploadPool::wait_for_room() {
  for (Entry& entry : entries_) {
    if (entry.state != State::mapping) continue;
    host_.wait_mapped(entry.page->handle());
    pump();
    return true;
  }
  return false;
}

Bytes UploadPool::pending_bytes() const {
  Bytes sum = 0;
  for (const Entry& entry : entries_) sum += entry.pending;
  return sum;
}

void UploadPool::forget(PageId page) {
  std::erase_if(entries_, [page](const Entry& entry) { return entry.page->id() == page; });
}

std::optional<std::string> UploadPool::check() const {
  if (entries_.size() != table_.pages(PoolKind::upload).size()) {
    return "the upload pool does not list each of its pages once";
  }
  if (table_.reserved(PoolKind::upload) > options_.budget) return "staging is over its budget";
  for (const Entry& entry : entries_) {
    const Page& page = *entry.page;
    if (page.pool() != PoolKind::upload) return "the upload pool lists a page of another pool";
    if (page.live() + page.padding() != entry.used) return "a staging page's used bytes are off";
    if (entry.pending > page.live()) return "more bytes are pending than are live";
    if (entry.state == State::mapping && entry.pending_slices != 0) {
      return "a staging page with pending data is on its way back to the host";
    }
  }
  return std::nullopt;
}

}  // namespace berth::memory
