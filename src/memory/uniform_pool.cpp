// SPDX-License-Identifier: Apache-2.0
#include "memory/uniform_pool.hpp"

#include <algorithm>

namespace berth::memory {

Reserved UniformPool::reserve(Bytes bytes) {
  pump();
  for (Page* page : table_.pages(PoolKind::uniform)) {
    if (const auto slice = page->try_take(bytes, options_.alignment)) return {*slice, {}, {}};
  }
  MadePages made = table_.make_growing(PoolKind::uniform, bytes, table_.reserved(PoolKind::uniform),
                                       options_.least_page, options_.most_page);
  if (!made.ok()) return {{}, {}, std::move(made.failure)};
  Page& page = table_.at(made.pages.front());
  return {*page.try_take(bytes, options_.alignment), page.id(), {}};
}

void UniformPool::submitted(const Slice& room, std::uint64_t ticket) {
  in_flight_.push_back({room, ticket});
}

void UniformPool::cancel(const Slice& room) { table_.at(room.page).give(room); }

void UniformPool::pump() {
  if (in_flight_.empty()) return;
  const std::uint64_t done = host_.completed();
  const auto first_busy =
      std::ranges::find_if(in_flight_, [done](const InFlight& use) { return use.ticket > done; });
  for (auto use = in_flight_.begin(); use != first_busy; ++use) {
    table_.at(use->room.page).give(use->room);
  }
  in_flight_.erase(in_flight_.begin(), first_busy);
}

}  // namespace berth::memory
