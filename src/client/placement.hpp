// SPDX-License-Identifier: Apache-2.0
//
// Gives the versions of a window their memory, inside an open transaction of the manager: planned
// as a whole (policy window) or mapped task after task (per_task, exclusive). Both answer with the
// same data, so that all that follows knows no policy. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "berth/options.hpp"
#include "berth/plan/planner.hpp"
#include "berth/plan/repair.hpp"
#include "client/versions.hpp"
#include "client/window.hpp"
#include "memory/manager.hpp"
#include "runtime/backend.hpp"

namespace berth::client {

/// A window with memory. Everything here is void if the transaction is rolled back.
struct Placement {
  plan::Repaired repaired;
  plan::Plan plan;
  std::vector<memory::PageId> pages;  ///< per page of the plan; invalid if it is not used
  std::vector<memory::Lent> lent;     ///< to be given back once submitted
  /// Per tensor of the window: its slot from now on, invalid if it has no memory afterwards.
  std::vector<memory::TensorSlot> slots;
  /// Slots that are of no use once the window is submitted.
  std::vector<memory::TensorSlot> dead;
  Bytes bytes_made = 0;  ///< of pages made for it
  std::uint32_t renames = 0;
  std::uint32_t unpromoted = 0;  ///< policy read_write: dispatches placed as under per_task
};

/// Parts that a test may replace.
struct Seams {
  using Planner = std::function<std::variant<plan::Plan, plan::NoPlan>(const plan::Problem&,
                                                                       const plan::Options&)>;
  Planner planner = plan::place;
  bool orders_streams = true;  ///< a tensor's tasks on another stream are submitted first
};

/// What a placer needs to know.
struct PlacementInput {
  const Window& window;
  const std::vector<TensorFacts>& facts;  ///< without places; those are looked up
  const runtime::Backend& backend;        ///< asked what it can do and what is compiled
  const ConnectOptions& options;
  const Seams& seams;
};

/// Per task of the window: nonzero if it is a dispatch whose promoted variant is compiled.
[[nodiscard]] std::vector<std::uint8_t> promotable_tasks(const PlacementInput& input);

/// A placement, or why pages could not be made.
using Placed = std::variant<Placement, memory::StorageFailure>;

/// Plans the window as a whole.
/// Errors: Error(too_large) if it never fits, Unsupported for a repair that is not there yet.
[[nodiscard]] Placed place_planned(const PlacementInput& input, memory::Manager& manager);

/// Of new pages, were the window planned and placed now. Makes nothing. Errors: as place_planned().
[[nodiscard]] Bytes bytes_to_make(const PlacementInput& input, memory::Manager& manager);

/// Maps each tensor when its task comes, with the pages excluded that the task uses with another
/// visibility; a tensor placed before that conflicts is copied elsewhere. Knows nothing of later
/// tasks but when a dropped tensor is used for the last time.
/// Errors: as place_planned().
[[nodiscard]] Placed place_registered(const PlacementInput& input, memory::Manager& manager);

}  // namespace berth::client
