// SPDX-License-Identifier: Apache-2.0
//
// The road of a window: facts, place, check, build, prepare, encode, submit, settle. Nothing
// reaches the device before all of its memory is there, and a failure leaves no trace.
#include <algorithm>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/build_program.hpp"
#include "client/core.hpp"
#include "client/plan_text.hpp"

namespace berth::client {

/// Uniforms, results, dummy pages, and the real page behind each page of the program.
struct Core::Rooms {
  BuiltProgram built;
  std::vector<memory::PageHandle> pages;
  std::vector<memory::PageId> used;
  std::vector<memory::Slice> dummies;
  std::optional<memory::Slice> uniforms;
  std::vector<memory::Slice> readbacks;
};

void Core::submit(const Window& window, ReadState* reads) {
  check_device();
  drain_drops();
  auto failure = try_submit(window, reads);
  if (!failure) return;
  if (failure->kind != memory::StorageFailure::Kind::never_fits) {
    // Idle pages go back once older work is done; then once more. The lock stays: another window
    // must not take the memory in between.
    if (!in_flight_.empty()) backend_->wait(in_flight_.back());
    in_flight_.clear();
    manager_->pump();
    manager_->trim(0);
    failure = try_submit(window, reads);
    if (!failure) return;
  }
  throw_out_of_memory(window, *failure);
}

namespace {

std::vector<TensorFacts> facts_of(const Window& window) {
  std::vector<TensorFacts> facts(window.tensors().size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].held = window.tensors()[i]->handles.load(std::memory_order_acquire) != 0;
  }
  return facts;
}

}  // namespace

// Uniforms and results are a small part: they count as whole pages of the least size.
bool Core::would_fit(const Window& window, Bytes budget) {
  Bytes need = storage_.reserved();
  Bytes results = 0;
  for (const RecordedTask& task : window.tasks()) {
    if (task.kind == plan::TaskKind::readback) {
      results += align_up(window.uses_of(task).front().range.bytes, 64 * kKiB);
    }
  }
  const Bytes uniforms = window.tasks().size() * device().limits.uniform_alignment;
  need += results + align_up(uniforms, 64 * kKiB);
  if (options_.policy == Policy::window) {
    const std::vector<TensorFacts> facts = facts_of(window);
    need += bytes_to_make({window, facts, *backend_, options_, seams_}, *manager_);
  } else {
    // Mapped task by task, nothing is known beforehand but that no tensor takes more than its size.
    for (const TensorState* tensor : window.tensors()) {
      if (!tensor->mapped.load()) need += align_up(tensor->capacity, device().page_granularity);
    }
  }
  return need <= budget;
}

std::optional<memory::StorageFailure> Core::try_submit(const Window& window, ReadState* reads) {
  const std::vector<TensorFacts> facts = facts_of(window);
  memory::Transaction transaction(*manager_);
  Placed placed = place(window, facts);
  if (auto* failure = std::get_if<memory::StorageFailure>(&placed)) return std::move(*failure);
  const Placement& placement = std::get<Placement>(placed);
  if (options_.check == Check::always) check_plan(window, placement);

  Rooms rooms;
  if (auto failure = reserve_rooms(window, placement, rooms)) return failure;
  std::vector<runtime::HostSlice> uploads;
  uploads.reserve(window.uploads().size());
  for (const memory::Slice& slice : window.uploads()) {
    uploads.push_back({manager_->handle_of(slice.page), slice.offset});
  }
  std::vector<runtime::HostSlice> readbacks;
  readbacks.reserve(rooms.readbacks.size());
  for (const memory::Slice& slice : rooms.readbacks) {
    readbacks.push_back({manager_->handle_of(slice.page), slice.offset});
  }
  runtime::Submission submission;
  submission.uniforms = rooms.built.uniforms;
  if (rooms.uniforms) {
    submission.uniform_room = {manager_->handle_of(rooms.uniforms->page), rooms.uniforms->offset};
  }
  submission.uploads = uploads;
  submission.readbacks = readbacks;
  submission.grids = rooms.built.grids;

  manager_->uploads().close(window.uploads());
  const auto program = std::make_shared<const plan::Program>(std::move(rooms.built.program));
  const auto prepared = backend_->prepare(program, rooms.pages);
  const std::uint32_t bind_groups = prepared->bind_groups_made();
  const runtime::Ticket ticket = backend_->submit(backend_->encode(*prepared, submission));

  // Submitted: from here on nothing fails.
  transaction.commit(rooms.used, ticket.value);
  in_flight_.push_back(ticket);
  if (rooms.uniforms) manager_->uniforms().submitted(*rooms.uniforms, ticket.value);
  manager_->uploads().submitted(window.uploads());
  manager_->readbacks().seal();
  manager_->give_back(placement.lent);
  for (const memory::Slice& dummy : rooms.dummies) manager_->release(dummy);
  if (reads != nullptr) {
    for (std::size_t i = 0; i < rooms.readbacks.size(); ++i) {
      reads->parts[reads->part_of[i]] = rooms.readbacks[i];
    }
    reads->submitted = true;
  }
  if (options_.explain == Explain::plans) last_plan_ = plan_text(window, placement);
  settle(window, placement);
  count(window, placement, bind_groups);
  return std::nullopt;
}

Placed Core::place(const Window& window, const std::vector<TensorFacts>& facts) {
  const PlacementInput input{window, facts, *backend_, options_, seams_};
  return options_.policy == Policy::window ? place_planned(input, *manager_)
                                           : place_registered(input, *manager_);
}

void Core::check_plan(const Window& window, const Placement& placement) const {
  const auto broken = plan::check(placement.repaired.problem, placement.plan);
  if (broken.empty()) return;
  throw Error(ErrorCode::internal,
              text("The plan of a window of ", window.tasks().size(),
                   " tasks is wrong and was not submitted: ", broken.front().message, " (",
                   broken.size(), " rules broken; this is a defect in berth)"));
}

std::optional<memory::StorageFailure> Core::reserve_rooms(const Window& window,
                                                          const Placement& placement,
                                                          Rooms& rooms) {
  rooms.built = build_program(window, placement.repaired, placement.plan, backend_->capabilities());
  for (std::size_t i = 0; i < rooms.built.page_sources.size(); ++i) {
    const PageSource& source = rooms.built.page_sources[i];
    memory::PageId page;
    if (source.kind == PageSource::Kind::planned) {
      page = placement.pages[source.planned.index()];
    } else {
      const memory::Reserved dummy =
          manager_->reserve(rooms.built.program.pages[i].bytes, memory::PoolKind::exclusive);
      if (!dummy.ok()) return dummy.failure;
      rooms.dummies.push_back(dummy.slice);
      page = dummy.slice.page;
    }
    rooms.pages.push_back(manager_->handle_of(page));
    rooms.used.push_back(page);
  }
  if (rooms.built.program.uniform_bytes != 0) {
    const memory::Reserved room = manager_->reserve_uniforms(rooms.built.program.uniform_bytes);
    if (!room.ok()) return room.failure;
    rooms.uniforms = room.slice;
  }
  for (const RecordedTask& task : window.tasks()) {
    if (task.kind != plan::TaskKind::readback) continue;
    const memory::Reserved room =
        manager_->reserve_readback(window.uses_of(task).front().range.bytes);
    if (!room.ok()) return room.failure;
    rooms.readbacks.push_back(room.slice);
  }
  return std::nullopt;
}

void Core::settle(const Window& window, const Placement& placement) {
  for (const memory::TensorSlot slot : placement.dead) {
    manager_->drop(slot);
    if (slot.index() < by_slot_.size()) by_slot_[slot.index()] = nullptr;
  }
  for (std::size_t i = 0; i < window.tensors().size(); ++i) {
    TensorState& tensor = *window.tensors()[i];
    const memory::TensorSlot slot = placement.slots[i];
    tensor.slot = slot.value;
    tensor.last_window = window.serial();
    tensor.mapped.store(slot.valid(), std::memory_order_release);
    if (!slot.valid()) continue;
    if (by_slot_.size() <= slot.index()) by_slot_.resize(slot.index() + 1, nullptr);
    by_slot_[slot.index()] = &tensor;
  }
}

namespace {

/// Tensors of earlier windows are there whatever the plan: the window's own figures leave them out.
struct OwnBytes {
  Bytes lower_bound = 0;
  Bytes planned_peak = 0;
};
OwnBytes own_bytes(const Placement& placement) {
  plan::Problem own = placement.repaired.problem;
  Bytes older = 0;
  for (plan::Version& version : own.versions) {
    if (!version.incoming) continue;
    older += align_up(version.bytes, version.alignment);
    version.bytes = 0;
  }
  for (plan::Use& use : own.uses) {
    if (own.versions[use.version.index()].bytes == 0) use.range = {};
  }
  const Bytes peak = placement.plan.statistics.peak;
  return {plan::lower_bound(own, placement.plan.order), peak > older ? peak - older : 0};
}

}  // namespace

void Core::count(const Window& window, const Placement& placement, std::uint32_t bind_groups) {
  const plan::Statistics& s = placement.plan.statistics;
  ++totals_.windows;
  totals_.tasks += window.tasks().size();
  totals_.renames += placement.renames;
  totals_.unpromoted += placement.unpromoted;
  for (const plan::Repair& repair : placement.repaired.repairs) {
    switch (repair.kind) {
      case plan::RepairKind::rename:
        ++totals_.renames;
        break;
      case plan::RepairKind::relocate:
        ++totals_.relocations;
        break;
      case plan::RepairKind::bounce:
        ++totals_.bounces;
        break;
      case plan::RepairKind::promote:
        ++totals_.promotions;
        break;
    }
  }
  last_window_serial_ = window.serial();
  last_window_ = {};
  last_window_.tasks = static_cast<std::uint32_t>(window.tasks().size());
  last_window_.tensors = static_cast<std::uint32_t>(placement.repaired.problem.versions.size());
  const OwnBytes own = own_bytes(placement);
  last_window_.lower_bound = own.lower_bound;
  last_window_.planned_peak = own.planned_peak;
  last_window_.pages_made = placement.bytes_made;
  last_window_.pages = s.pages;
  last_window_.levels = s.levels;
  last_window_.barriers = s.barriers;
  last_window_.hazards = s.hazards;
  last_window_.repairs = static_cast<std::uint32_t>(placement.repaired.repairs.size());
  last_window_.in_place = s.in_place;
  last_window_.bind_groups = bind_groups;
}

void Core::throw_out_of_memory(const Window& window, const memory::StorageFailure& failure) const {
  std::vector<TensorState*> tensors(window.tensors().begin(), window.tensors().end());
  std::ranges::sort(tensors, [](const TensorState* a, const TensorState* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->id < b->id;
  });
  constexpr std::size_t kMostNamed = 5;
  if (tensors.size() > kMostNamed) tensors.resize(kMostNamed);
  std::vector<TensorBytes> largest;
  std::string named;
  for (const TensorState* tensor : tensors) {
    largest.push_back({tensor->label, tensor->bytes});
    named += text(named.empty() ? "" : ", ", describe(*tensor));
  }
  const std::string message = text(
      "A window of ", window.tasks().size(), " tasks does not get its memory: ", failure.message,
      " Reserved now: ", storage_.reserved(),
      " bytes. Largest tensors of the "
      "window: ",
      named, ". The window stays open: drop handles and flush again, or discard it.");
  if (failure.kind == memory::StorageFailure::Kind::never_fits) {
    throw Error(ErrorCode::too_large, message);
  }
  throw OutOfMemory(message, failure.need, failure.limit, std::move(largest));
}

}  // namespace berth::client
