// SPDX-License-Identifier: Apache-2.0
//
// Transactions of the manager: a journal of what was done, undone from its end. Undoing in exact
// reverse order is what makes every step possible: a slice that is taken again is free at that
// point, since all that was placed there later is gone already.
#include <ranges>

#include "berth/error.hpp"
#include "memory/manager.hpp"

namespace berth::memory {

Transaction::Transaction(Manager& manager) : manager_(&manager) {
  if (manager.in_transaction_) {
    throw Error(ErrorCode::internal, "A transaction begins inside another one.");
  }
  manager.pump();
  manager.in_transaction_ = true;
}

Transaction::~Transaction() {
  if (manager_ != nullptr) manager_->rollback();
}

void Transaction::commit(std::span<const PageId> used, std::uint64_t ticket) {
  if (manager_ == nullptr) {
    throw Error(ErrorCode::internal, "A transaction is committed twice.");
  }
  manager_->commit(used, ticket);
  manager_ = nullptr;
}

void Manager::note(Done::What what, TensorSlot tensor, const Slice& slice, PageId page) {
  if (in_transaction_) journal_.push_back({what, tensor, slice, page});
}

void Manager::undo(const Done& done) {
  const Lent lent{done.page, done.slice.bytes};
  switch (done.what) {
    case Done::What::added:
      at(done.tensor).used = false;
      unused_slots_.push_back(done.tensor);
      break;
    case Done::What::placed:
      give(done.slice);
      at(done.tensor).place.reset();
      break;
    case Done::What::unplaced:
      retake(done.slice);
      at(done.tensor).place = done.slice;
      break;
    case Done::What::reserved:
      give(done.slice);
      break;
    case Done::What::released:
      retake(done.slice);
      break;
    case Done::What::made:
      free_page(done.page);
      break;
    case Done::What::lent:
      transient_.give_back({&lent, 1});
      break;
    case Done::What::given_back:
      if (!transient_.try_lend({&lent, 1})) {
        throw Error(ErrorCode::internal, "A transient page cannot be lent again in a roll-back.");
      }
      break;
    case Done::What::uniform:
      uniform_.cancel(done.slice);
      break;
    case Done::What::readback:
      readback_.cancel(done.slice);
      break;
  }
}

// A defect found while undoing leaves nothing sane to go on with; like any exception that leaves a
// destructor it ends the process.
void Manager::rollback() noexcept {  // NOLINT(bugprone-exception-escape)
  in_transaction_ = false;
  for (const Done& done : journal_ | std::views::reverse) undo(done);
  journal_.clear();
  replaced_.clear();
}

void Manager::commit(std::span<const PageId> used, std::uint64_t ticket) {
  for (const PageId page : used) table_.at(page).used_by(ticket);
  in_transaction_ = false;
  journal_.clear();
  retiring_.insert(retiring_.end(), replaced_.begin(), replaced_.end());
  replaced_.clear();
}

}  // namespace berth::memory
