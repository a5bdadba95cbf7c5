// SPDX-License-Identifier: Apache-2.0
#include "memory/sliced_pool.hpp"

#include <algorithm>

namespace berth::memory {

Reserved SlicedPool::reserve(Bytes bytes, std::span<const PageId> excluded) {
  Page* best = nullptr;
  FreeList::Fit best_fit;
  for (Page* page : table_.pages(kind_)) {
    if (contains(excluded, page->id())) continue;
    const auto fit = page->free().find(bytes, options_.alignment);
    if (!fit || (best != nullptr && fit->free_bytes >= best_fit.free_bytes)) continue;
    best = page;
    best_fit = *fit;
  }
  if (best != nullptr) return {*best->try_take(bytes, options_.alignment), {}, {}};

  const Bytes growing = std::clamp(table_.reserved(kind_), options_.least_page, options_.most_page);
  const NewPage wanted{kind_, std::max(growing, bytes)};
  MadePages made = table_.make({&wanted, 1});
  if (!made.ok() && table_.rounded(kind_, bytes) < table_.rounded(kind_, wanted.bytes)) {
    const NewPage needed{kind_, bytes};
    made = table_.make({&needed, 1});
  }
  if (!made.ok()) return {{}, {}, std::move(made.failure)};
  Page& page = table_.at(made.pages.front());
  return {*page.try_take(bytes, options_.alignment), page.id(), {}};
}

}  // namespace berth::memory
