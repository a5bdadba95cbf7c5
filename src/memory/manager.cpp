// SPDX-License-Identifier: Apache-2.0
#include "memory/manager.hpp"

#include <algorithm>
#include <utility>

#include "berth/error.hpp"

namespace berth::memory {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::internal, message); }

std::string name(TensorSlot tensor) { return "Tensor slot " + std::to_string(tensor.value); }

}  // namespace

Manager::Manager(Storage& storage, HostPages& host, const ManagerOptions& options)
    : host_(host),
      table_(storage, options.pages),
      persistent_(table_, PoolKind::persistent, options.sliced),
      sliced_(table_, PoolKind::sliced, options.sliced),
      exclusive_(table_),
      transient_(table_),
      upload_(table_, host, options.staging),
      readback_(table_, host, options.readback),
      uniform_(table_, host, options.uniform),
      mapped_to_(options.mapped_to),
      growth_(options.growth) {
  if (mapped_to_ != PoolKind::sliced && mapped_to_ != PoolKind::exclusive) {
    fail("Tensors are mapped to the sliced or the exclusive pool only.");
  }
}

const Manager::Tensor& Manager::at(TensorSlot tensor) const {
  if (tensor.index() >= tensors_.size() || !tensors_[tensor.index()].used) {
    fail(name(tensor) + " is not in use.");
  }
  return tensors_[tensor.index()];
}

Manager::Tensor& Manager::at(TensorSlot tensor) {
  return const_cast<Tensor&>(std::as_const(*this).at(tensor));  // NOLINT: same object
}

TensorSlot Manager::add(Bytes bytes) {
  if (bytes == 0) fail("A tensor of zero bytes takes no room and needs no slot.");
  TensorSlot slot;
  if (unused_slots_.empty()) {
    slot = TensorSlot{static_cast<std::uint32_t>(tensors_.size())};
    tensors_.emplace_back();
  } else {
    slot = unused_slots_.back();
    unused_slots_.pop_back();
  }
  tensors_[slot.index()] = {bytes, std::nullopt, true};
  note(Done::What::added, slot, {}, {});
  return slot;
}

void Manager::drop(TensorSlot tensor) {
  if (in_transaction_) fail(name(tensor) + " is dropped inside a transaction.");
  unmap(tensor);
  at(tensor).used = false;
  unused_slots_.push_back(tensor);
}

Reserved Manager::reserve_from(PoolKind pool, Bytes bytes, std::span<const PageId> excluded) {
  if (bytes == 0) fail("Zero bytes are reserved.");
  Reserved reserved;
  switch (pool) {
    case PoolKind::persistent:
      reserved = persistent_.reserve(bytes, excluded);
      break;
    case PoolKind::sliced:
      reserved = sliced_.reserve(bytes, excluded);
      break;
    case PoolKind::exclusive:
      reserved = exclusive_.reserve(bytes, excluded);
      break;
    default:
      fail(std::string("The ") + name_of(pool) + " pool does not hand out slices.");
  }
  if (reserved.made.valid()) note(Done::What::made, {}, {}, reserved.made);
  return reserved;
}

Reserved Manager::reserve(Bytes bytes, PoolKind pool, std::span<const PageId> excluded) {
  Reserved reserved = reserve_from(pool, bytes, excluded);
  if (reserved.ok()) note(Done::What::reserved, {}, reserved.slice, {});
  return reserved;
}

void Manager::release(const Slice& slice) {
  give(slice);
  note(Done::What::released, {}, slice, {});
}

Reserved Manager::map(TensorSlot tensor, std::span<const PageId> excluded) {
  Tensor& entry = at(tensor);
  if (entry.place) fail(name(tensor) + " is mapped twice.");
  Reserved reserved = reserve_from(mapped_to_, entry.bytes, excluded);
  if (!reserved.ok()) return reserved;
  entry.place = reserved.slice;
  note(Done::What::placed, tensor, reserved.slice, {});
  return reserved;
}

void Manager::unmap(TensorSlot tensor) {
  Tensor& entry = at(tensor);
  if (!entry.place) return;
  const Slice slice = *entry.place;
  give(slice);
  entry.place.reset();
  note(Done::What::unplaced, tensor, slice, {});
}

MadePages Manager::make_pages(std::span<const NewPage> pages) {
  for (const NewPage& page : pages) {
    if (page.pool != PoolKind::persistent && page.pool != PoolKind::sliced) {
      fail(std::string("Pages of the ") + name_of(page.pool) + " pool are made by the pool alone.");
    }
  }
  MadePages made = table_.make(pages);
  for (const PageId page : made.pages) note(Done::What::made, {}, {}, page);
  return made;
}

void Manager::set_place(TensorSlot tensor, PageId page, Bytes offset, Bytes alignment) {
  Tensor& entry = at(tensor);
  if (entry.place) fail(name(tensor) + " is placed while it is mapped.");
  Page& host = table_.at(page);
  if (host.pool() != PoolKind::persistent && host.pool() != PoolKind::sliced) {
    fail(name(tensor) + " is placed on a page of the " + name_of(host.pool()) + " pool.");
  }
  const Bytes room = offset < host.bytes() ? host.bytes() - offset : 0;
  const Slice slice{page, offset, entry.bytes,
                    std::max(entry.bytes, std::min(align_up(entry.bytes, alignment), room))};
  if (!host.try_take(slice)) {
    fail(name(tensor) + " is placed at bytes [" + std::to_string(offset) + ", " +
         std::to_string(slice.taken_range().end()) + ") of page " + std::to_string(page.value) +
         ", which are not all free.");
  }
  entry.place = slice;
  note(Done::What::placed, tensor, slice, {});
}

LentPages Manager::lend(std::span<const Bytes> extents) {
  LentPages lent = transient_.lend(extents, growth_);
  if (!lent.ok()) return lent;
  for (const PageId page : lent.made) note(Done::What::made, {}, {}, page);
  note_lent(lent.pages);
  std::vector<PageId>& replaced = in_transaction_ ? replaced_ : retiring_;
  replaced.insert(replaced.end(), lent.replaced.begin(), lent.replaced.end());
  return lent;
}

bool Manager::try_lend(std::span<const Lent> pages) {
  if (!transient_.try_lend(pages)) return false;
  note_lent(pages);
  return true;
}

void Manager::note_lent(std::span<const Lent> pages) {
  for (const Lent& page : pages) {
    note(Done::What::lent, {}, {page.page, 0, page.extent, 0}, page.page);
    std::erase(retiring_, page.page);  // it serves again
  }
}

void Manager::give_back(std::span<const Lent> pages) {
  transient_.give_back(pages);
  for (const Lent& page : pages) {
    note(Done::What::given_back, {}, {page.page, 0, page.extent, 0}, page.page);
  }
}

Reserved Manager::reserve_uniforms(Bytes bytes) {
  Reserved reserved = uniform_.reserve(bytes);
  if (!reserved.ok()) return reserved;
  if (reserved.made.valid()) note(Done::What::made, {}, {}, reserved.made);
  note(Done::What::uniform, {}, reserved.slice, {});
  return reserved;
}

Reserved Manager::reserve_readback(Bytes bytes) {
  Reserved reserved = readback_.reserve(bytes);
  if (!reserved.ok()) return reserved;
  if (reserved.made.valid()) note(Done::What::made, {}, {}, reserved.made);
  note(Done::What::readback, {}, reserved.slice, {});
  return reserved;
}

void Manager::give(const Slice& slice) {
  Page& page = table_.at(slice.page);
  if (page.pool() == PoolKind::exclusive) {
    exclusive_.release(slice);
  } else {
    page.give(slice);
  }
}

void Manager::retake(const Slice& slice) {
  Page& page = table_.at(slice.page);
  const bool taken =
      page.pool() == PoolKind::exclusive ? exclusive_.try_retake(slice) : page.try_take(slice);
  if (!taken) fail("A slice that is taken again for a roll-back is not free.");
}

void Manager::free_page(PageId page) {
  switch (table_.at(page).pool()) {
    case PoolKind::exclusive:
      exclusive_.forget(page);
      break;
    case PoolKind::upload:
      upload_.forget(page);
      break;
    case PoolKind::readback:
      readback_.forget(page);
      break;
    default:
      break;
  }
  table_.free(page);
}

}  // namespace berth::memory
