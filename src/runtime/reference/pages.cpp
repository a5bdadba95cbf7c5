// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/pages.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

constexpr std::size_t kPageAlignment = 4096;

std::string name(memory::PageHandle page) { return "Page " + std::to_string(page.value); }

HostState state_of(const PageMemory& page, std::uint64_t done) {
  return page.host == HostState::mapping && page.last_use <= done ? HostState::mapped : page.host;
}

}  // namespace

void PageMemory::Free::operator()(void* memory) const noexcept { std::free(memory); }

memory::PageSource::Made Pages::make(const memory::PageRequest& request, Bytes limit) {
  using memory::StorageFailure;
  const std::string size = std::to_string(request.bytes) + " bytes";
  if (request.bytes > limit) {
    return {{},
            StorageFailure{StorageFailure::Kind::never_fits, request.bytes, limit,
                           "A page of " + size + " never fits: the limit is " +
                               std::to_string(limit) + " bytes."}};
  }
  auto page = std::make_unique<PageMemory>();
  // calloc: large blocks come from the system as zero pages that cost nothing until touched.
  page->block.reset(std::calloc(1, static_cast<std::size_t>(request.bytes) + kPageAlignment));
  if (page->block == nullptr) {
    return {{},
            StorageFailure{StorageFailure::Kind::not_now, request.bytes, 0,
                           "A page of " + size + " cannot be made: the host is out of memory."}};
  }
  void* start = page->block.get();
  std::size_t space = static_cast<std::size_t>(request.bytes) + kPageAlignment;
  page->data = static_cast<std::byte*>(
      std::align(kPageAlignment, static_cast<std::size_t>(request.bytes), start, space));
  page->bytes = request.bytes;
  page->use = request.use;
  const bool upload = memory::has(request.use, memory::PageUse::upload);
  if (upload) page->host = HostState::mapped;
  if (fill_ == Fill::poison && memory::has(request.use, memory::PageUse::storage)) {
    std::fill_n(page->data, page->bytes, kPagePoison);
    page->written.assign(static_cast<std::size_t>(page->bytes), 0);
  }
  const std::scoped_lock lock(mutex_);
  page->handle = memory::PageHandle{next_++};
  const memory::PageHandle handle = page->handle;
  pages_.emplace(handle.value, std::move(page));
  return {handle, std::nullopt};
}

void Pages::free(memory::PageHandle page) noexcept {
  const std::scoped_lock lock(mutex_);
  pages_.erase(page.value);
}

PageMemory* Pages::find_locked(memory::PageHandle page) const {
  const auto found = pages_.find(page.value);
  return found == pages_.end() ? nullptr : found->second.get();
}

PageMemory& Pages::at_locked(memory::PageHandle page) const {
  if (PageMemory* found = find_locked(page)) return *found;
  throw Error(ErrorCode::internal, name(page) + " is used but does not exist.");
}

PageMemory* Pages::find(memory::PageHandle page) const {
  const std::scoped_lock lock(mutex_);
  return find_locked(page);
}

PageMemory& Pages::at(memory::PageHandle page) const {
  const std::scoped_lock lock(mutex_);
  return at_locked(page);
}

void Pages::map(memory::PageHandle page) {
  const std::scoped_lock lock(mutex_);
  PageMemory& memory = at_locked(page);
  const auto staging = memory::PageUse::upload | memory::PageUse::readback;
  if (!memory::has(memory.use, staging) || memory.host != HostState::unmapped) {
    throw Error(ErrorCode::internal,
                name(page) + " is to be mapped, but it is no unmapped staging page.");
  }
  memory.host = HostState::mapping;
}

void Pages::unmap(memory::PageHandle page, std::uint64_t done) {
  const std::scoped_lock lock(mutex_);
  PageMemory& memory = at_locked(page);
  if (state_of(memory, done) != HostState::mapped) {
    throw Error(ErrorCode::internal, name(page) + " is to be unmapped, but it is not mapped.");
  }
  memory.host = HostState::unmapped;
}

HostState Pages::host_state(memory::PageHandle page, std::uint64_t done) const {
  const std::scoped_lock lock(mutex_);
  return state_of(at_locked(page), done);
}

std::byte* Pages::host_data(memory::PageHandle page, std::uint64_t done) const {
  const std::scoped_lock lock(mutex_);
  const PageMemory& memory = at_locked(page);
  if (state_of(memory, done) != HostState::mapped) {
    throw Error(ErrorCode::internal,
                name(page) + " is touched by the host while it is not mapped.");
  }
  return memory.data;
}

void Pages::check_unmapped(memory::PageHandle page) const {
  const std::scoped_lock lock(mutex_);
  if (at_locked(page).host != HostState::unmapped) {
    throw Error(ErrorCode::internal,
                name(page) + " enters a submission while it is mapped or being mapped.");
  }
}

void Pages::use(memory::PageHandle page, std::uint64_t ticket) {
  const std::scoped_lock lock(mutex_);
  PageMemory& memory = at_locked(page);
  memory.last_use = std::max(memory.last_use, ticket);
}

std::uint64_t Pages::last_use(memory::PageHandle page) const {
  const std::scoped_lock lock(mutex_);
  const PageMemory* found = find_locked(page);
  return found == nullptr ? 0 : found->last_use;
}

}  // namespace berth::runtime::reference
