// SPDX-License-Identifier: Apache-2.0
//
// The matching: extents from the largest to the smallest, each to the smallest idle page that holds
// it. A page that holds a larger extent holds every smaller one too, so what is matched first never
// takes a page that a later extent needs more: the matched bytes are the most possible.
#include "memory/transient_pool.hpp"

#include <algorithm>
#include <numeric>

#include "berth/error.hpp"

namespace berth::memory {

namespace {

Slice whole(const Page& page, Bytes extent) { return {page.id(), 0, extent, page.bytes()}; }

void take(Page& page, Bytes extent) {
  if (!page.try_take(whole(page, extent))) {
    throw Error(ErrorCode::internal, "A transient page is lent twice.");
  }
}

}  // namespace

LentPages TransientPool::lend(std::span<const Bytes> extents, Growth growth) {
  std::vector<Page*> idle;
  for (Page* page : table_.pages(PoolKind::transient)) {
    if (page->idle()) idle.push_back(page);
  }
  std::ranges::sort(idle, {},
                    [](const Page* page) { return std::pair(page->bytes(), page->id()); });
  std::vector<std::size_t> by_size(extents.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  // Equal extents in their order: the same answer every time.
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    return extents[a] != extents[b] ? extents[a] > extents[b] : a < b;
  });

  LentPages lent;
  lent.pages.resize(extents.size());
  std::vector<std::size_t> unmatched;
  std::vector<NewPage> wanted;
  for (const std::size_t i : by_size) {
    lent.pages[i].extent = extents[i];
    const auto page = std::ranges::lower_bound(idle, extents[i], {}, &Page::bytes);
    if (page == idle.end()) {
      unmatched.push_back(i);
      wanted.push_back({PoolKind::transient, extents[i]});
    } else {
      lent.pages[i].page = (*page)->id();
      idle.erase(page);
    }
  }

  MadePages made = table_.make(wanted);
  if (!made.ok()) {
    lent.pages.clear();
    lent.failure = std::move(made.failure);
    return lent;
  }
  Bytes made_bytes = 0;
  for (std::size_t i = 0; i < unmatched.size(); ++i) {
    lent.pages[unmatched[i]].page = made.pages[i];
    made_bytes += table_.at(made.pages[i]).bytes();
  }
  lent.made = std::move(made.pages);
  for (const Lent& page : lent.pages) take(table_.at(page.page), page.extent);

  if (growth == Growth::replace) {
    for (const Page* page : idle) {  // the smallest first
      if (page->bytes() > made_bytes) break;
      made_bytes -= page->bytes();
      lent.replaced.push_back(page->id());
    }
  }
  return lent;
}

bool TransientPool::try_lend(std::span<const Lent> pages) {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    Page* page = table_.find(pages[i].page);
    const bool fits = page != nullptr && page->pool() == PoolKind::transient &&
                      page->bytes() >= pages[i].extent &&
                      page->try_take(whole(*page, pages[i].extent));
    if (!fits) {
      give_back(pages.first(i));
      return false;
    }
  }
  return true;
}

void TransientPool::give_back(std::span<const Lent> pages) {
  for (const Lent& lent : pages) {
    Page& page = table_.at(lent.page);
    page.give(whole(page, lent.extent));
  }
}

}  // namespace berth::memory
