// SPDX-License-Identifier: Apache-2.0
#include "memory/readback_pool.hpp"

#include <algorithm>

#include "berth/error.hpp"

namespace berth::memory {

Reserved ReadbackPool::reserve(Bytes bytes) {
  pump();
  Entry* best = nullptr;  // the fullest open page that has room
  for (Entry& entry : entries_) {
    const Bytes at = align_up(entry.used, options_.alignment);
    const Bytes size = entry.page->bytes();
    if (entry.state != State::open || at > size || bytes > size - at) continue;
    if (best == nullptr || size - entry.used < best->page->bytes() - best->used) best = &entry;
  }
  if (best != nullptr) return {put(*best, bytes), {}, {}};

  MadePages made =
      table_.make_growing(PoolKind::readback, bytes, table_.reserved(PoolKind::readback),
                          options_.least_page, options_.most_page);
  if (!made.ok()) return {{}, {}, std::move(made.failure)};
  entries_.push_back({&table_.at(made.pages.front()), State::open, 0, 0});
  return {put(entries_.back(), bytes), made.pages.front(), {}};
}

Slice ReadbackPool::put(Entry& entry, Bytes bytes) {
  const Bytes at = align_up(entry.used, options_.alignment);
  const Slice held{entry.page->id(), entry.used, bytes, at + bytes - entry.used};
  if (!entry.page->try_take(held)) {
    throw Error(ErrorCode::internal, "The free end of a readback page is not free.");
  }
  entry.used = at + bytes;
  ++entry.results;
  return {entry.page->id(), at, bytes, bytes};
}

void ReadbackPool::seal() {
  for (Entry& entry : entries_) {
    if (entry.state != State::open || entry.results == 0) continue;
    host_.map(entry.page->handle());
    entry.state = State::mapping;
  }
}

void ReadbackPool::cancel(const Slice& room) {
  Entry& entry = entry_of(room.page);
  if (entry.state != State::open) {
    throw Error(ErrorCode::internal, "Room for a result is cancelled after its submission.");
  }
  entry.page->waste(room.bytes);
  if (--entry.results == 0) {
    entry.page->clear();
    entry.used = 0;
  }
}

bool ReadbackPool::ready(const Slice& room) {
  Entry& entry = entry_of(room.page);
  settle(entry);
  return entry.state == State::mapped;
}

void ReadbackPool::wait(const Slice& room) {
  Entry& entry = entry_of(room.page);
  if (entry.state == State::open) {
    throw Error(ErrorCode::internal, "A result is waited for that was never submitted.");
  }
  if (entry.state == State::mapping) host_.wait_mapped(entry.page->handle());
  settle(entry);
}

std::span<const std::byte> ReadbackPool::data(const Slice& room) {
  Entry& entry = entry_of(room.page);
  if (entry.state != State::mapped) {
    throw Error(ErrorCode::internal, "A result is read before it is there.");
  }
  return {host_.data(entry.page->handle()) + room.offset, static_cast<std::size_t>(room.bytes)};
}

void ReadbackPool::release(const Slice& room) {
  Entry& entry = entry_of(room.page);
  if (entry.state == State::open || entry.results == 0) {
    throw Error(ErrorCode::internal, "A result is released that was never submitted.");
  }
  --entry.results;
  entry.page->waste(room.bytes);
  settle(entry);
}

void ReadbackPool::settle(Entry& entry) {
  if (entry.state == State::mapping && host_.mapped(entry.page->handle())) {
    entry.state = State::mapped;
  }
  if (entry.state == State::mapped && entry.results == 0) {
    host_.unmap(entry.page->handle());
    entry.page->clear();
    entry.used = 0;
    entry.state = State::open;
  }
}

void ReadbackPool::pump() {
  for (Entry& entry : entries_) {
    if (entry.state == State::mapping && entry.results == 0) settle(entry);
  }
}

void ReadbackPool::forget(PageId page) {
  std::erase_if(entries_, [page](const Entry& entry) { return entry.page->id() == page; });
}

ReadbackPool::Entry& ReadbackPool::entry_of(PageId page) {
  for (Entry& entry : entries_) {
    if (entry.page->id() == page) return entry;
  }
  throw Error(ErrorCode::internal,
              "Page " + std::to_string(page.value) + " is no page of the readback pool.");
}

std::optional<std::string> ReadbackPool::check() const {
  if (entries_.size() != table_.pages(PoolKind::readback).size()) {
    return "the readback pool does not list each of its pages once";
  }
  for (const Entry& entry : entries_) {
    const Page& page = *entry.page;
    if (page.pool() != PoolKind::readback) return "the readback pool lists a foreign page";
    if (page.live() + page.padding() != entry.used) return "a readback page's used bytes are off";
    if (entry.state == State::mapped && entry.results == 0) {
      return "a readback page without results is held by the host";
    }
    if (entry.state == State::open && (entry.results == 0) != (entry.used == 0)) {
      return "a readback page holds bytes for no result";
    }
  }
  return std::nullopt;
}

}  // namespace berth::memory
