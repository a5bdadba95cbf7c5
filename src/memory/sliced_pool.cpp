// SPDX-License-Identifier: Apache-2.0
#include "memory/sliced_pool.hpp"

#include <algorithm>

namespace berth::memory {

Reserved SlicedPool::reserve(Bytes bytes, std::span<const PageId> excluded) {
  Page* best = nullptr;
  // Excluded pages are not full: a page made only to be apart from them needs not be large.
  Bytes full = 0;
  FreeList::Fit best_fit;
  for (Page* page : table_.pages(kind_)) {
    if (contains(excluded, page->id())) continue;
    full += page->bytes();
    const auto fit = page->free().find(bytes, options_.alignment);
    if (!fit || (best != nullptr && fit->free_bytes >= best_fit.free_bytes)) continue;
    best = page;
    best_fit = *fit;
  }
  if (best != nullptr) return {*best->try_take(bytes, options_.alignment), {}, {}};

  MadePages made = table_.make_growing(kind_, bytes, full, options_.least_page, options_.most_page);
  if (!made.ok()) return {{}, {}, std::move(made.failure)};
  Page& page = table_.at(made.pages.front());
  return {*page.try_take(bytes, options_.alignment), page.id(), {}};
}

}  // namespace berth::memory
