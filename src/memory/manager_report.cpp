// SPDX-License-Identifier: Apache-2.0
//
// What the manager tells about itself: reports, trimming, the invariant walker.
#include <algorithm>
#include <map>

#include "berth/error.hpp"
#include "memory/manager.hpp"

namespace berth::memory {

void Manager::pump() {
  upload_.pump();
  readback_.pump();
  uniform_.pump();
  if (!in_transaction_) free_replaced();
}

void Manager::free_replaced() {
  if (retiring_.empty()) return;
  const std::uint64_t done = host_.completed();
  std::erase_if(retiring_, [&](PageId id) {
    const Page* page = table_.find(id);
    if (page == nullptr || !page->idle()) return true;  // trimmed, or lent again: it has its use
    if (page->last_use() > done) return false;
    free_page(id);
    return true;
  });
}

Bytes Manager::trim(Bytes keep) {
  if (in_transaction_) throw Error(ErrorCode::internal, "Pages are trimmed inside a transaction.");
  pump();
  const std::uint64_t done = host_.completed();
  std::vector<const Page*> idle;
  Bytes idle_bytes = 0;
  for (std::size_t pool = 0; pool < kPoolKinds; ++pool) {
    for (const Page* page : table_.pages(static_cast<PoolKind>(pool))) {
      if (!page->idle()) continue;
      idle.push_back(page);
      idle_bytes += page->bytes();
    }
  }
  std::ranges::sort(idle, std::greater<>{},
                    [](const Page* page) { return std::pair(page->bytes(), page->id()); });
  Bytes freed = 0;
  for (const Page* page : idle) {
    if (idle_bytes <= keep) break;
    if (page->last_use() > done) continue;
    idle_bytes -= page->bytes();
    freed += page->bytes();
    free_page(page->id());
  }
  return freed;
}

std::vector<PoolReport> Manager::reports() const {
  std::vector<PoolReport> reports;
  for (std::size_t index = 0; index < kPoolKinds; ++index) {
    const auto pool = static_cast<PoolKind>(index);
    if (table_.pages(pool).empty()) continue;
    PoolReport report;
    report.name = name_of(pool);
    for (const Page* page : table_.pages(pool)) {
      report.reserved += page->bytes();
      report.live += page->live();
      report.padding += page->padding();
      report.idle += page->free().free_bytes();
      ++report.pages;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::optional<std::string> Manager::check(std::size_t anonymous) const {
  if (auto broken = table_.check()) return broken;
  if (auto broken = exclusive_.check()) return broken;
  if (auto broken = upload_.check()) return broken;
  if (auto broken = readback_.check()) return broken;

  std::map<PageId, std::vector<Range>> held;
  std::size_t used = 0;
  std::size_t mapped = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    used += tensor.used ? 1 : 0;
    if (!tensor.place) continue;
    const std::string who = "tensor slot " + std::to_string(i) + ": ";
    if (!tensor.used) return who + "dropped, but it has a place";
    const Slice& slice = *tensor.place;
    const Page* page = table_.find(slice.page);
    if (page == nullptr) return who + "its page does not exist";
    if (slice.bytes != tensor.bytes) return who + "its place has another size";
    if (slice.taken_range().end() > page->bytes()) return who + "its place ends outside the page";
    for (const Range& free : page->free().ranges()) {
      if (free.overlaps(slice.taken_range())) return who + "bytes of its place are free";
    }
    held[slice.page].push_back(slice.taken_range());
    ++mapped;
  }
  if (used + unused_slots_.size() != tensors_.size()) return "a tensor slot is lost";

  std::size_t tenants = 0;
  for (const PoolKind pool : {PoolKind::persistent, PoolKind::sliced, PoolKind::exclusive}) {
    for (const Page* page : table_.pages(pool)) tenants += page->tenants();
  }
  if (tenants != mapped + anonymous) {
    return std::to_string(mapped) + " tensors are mapped, but pages count " +
           std::to_string(tenants) + " tenants";
  }
  for (auto& [page, ranges] : held) {
    std::ranges::sort(ranges);
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i - 1].overlaps(ranges[i])) {
        return "two tensors share bytes of page " + std::to_string(page.value);
      }
    }
  }
  return std::nullopt;
}

}  // namespace berth::memory
