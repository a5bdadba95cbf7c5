// SPDX-License-Identifier: Apache-2.0
//
// The planner's problem and answer as plain data. A window of tasks over versions of tensors goes
// in (Problem); a page and an offset for each version, an order, levels and statistics come out
// (Plan). Nothing here allocates device memory or knows a device: the numbers are all there is.
//
//   address                         one page over time: live ranges never meet in time x address
//     ^      +-----------+
//     |      | v2        |----+     and across pages the rule of WebGPU: a version that a task
//     | +----+----+------+ v3 |     writes shares no page with one that the same task only reads.
//     | | v0      | v1   |----+
//     +-+---------+------+--------> position in the order
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/access.hpp"
#include "berth/units.hpp"

namespace berth::plan {

struct VersionTag;
struct TaskTag;
struct PageTag;
struct TensorTag;
struct PoolTag;
using VersionId = Id<VersionTag>;  ///< index into Problem::versions
using TaskId = Id<TaskTag>;        ///< index into Problem::tasks: the program order
using PageId = Id<PageTag>;        ///< index into Plan::pages; the first ones are Problem::pages
using TensorId = Id<TensorTag>;    ///< which versions are contents of the same tensor
using PoolId = Id<PoolTag>;        ///< versions of different pools never share a page

/// Where a version lies.
struct Place {
  PageId page;
  Bytes offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// A tensor's contents between two whole overwrites: the unit of placement.
struct Version {
  TensorId tensor;
  Bytes bytes = 0;      ///< payload; zero is allowed and takes no room
  Bytes alignment = 1;  ///< of the offset in its page; a power of two
  PoolId pool{0};       ///< transients, persistent tensors, usages: each a pool of its own
  /// A place that is given: a tensor placed by an earlier window, an imported buffer. Its page is
  /// one of Problem::pages.
  std::optional<Place> fixed;
  /// A fixed version may be copied elsewhere before its first use in this window (a repair).
  bool movable = false;
  /// Has contents before the first task, so it lives from there on.
  bool incoming = false;
  /// Its contents are wanted after the last task, so it lives until there.
  bool outlives = false;
};

/// One use of a range of a version by a task.
struct Use {
  VersionId version;
  Access access = Access::read;
  Range range;  ///< inside the version; whole versions are {0, bytes}
  /// Its offset need not be aligned to Device::binding_alignment (copies, uploads, kernels that
  /// take a base offset).
  bool any_offset = false;
  /// The workgroup counts of an indirect dispatch: never on a page that the task writes, promoted
  /// or not.
  bool argument = false;
};

enum class TaskKind : std::uint8_t { dispatch, copy, fill, upload, readback, foreign };

/// One recorded task. Its uses are Problem::uses[first_use, first_use + use_count).
struct Task {
  TaskKind kind = TaskKind::dispatch;
  std::uint32_t first_use = 0;
  std::uint32_t use_count = 0;
  /// Tasks of one level with the same key may become one dispatch; 0 = never.
  std::uint64_t batch_key = 0;
  /// Estimated device time, 0 = unknown. Only ever a hint.
  double estimated_ns = 0;
  /// Bound all read_write (a repair): its uses may share pages as long as no writable range meets
  /// another one after rounding to Device::binding_alignment.
  bool promoted = false;
};

/// A pair that the kernel of `task` may compute in place: `output` may take over the bytes of
/// `input` (same bytes, `input` dies in `task`). The planner decides; see Plan::in_place. Code
/// exists per choice of pairs: of one task, all pairs of one choice are taken, or none.
struct InPlacePair {
  TaskId task;
  VersionId input;
  VersionId output;
  std::uint32_t choice = 0;
};

/// A page that exists before the window is planned.
struct Page {
  Bytes bytes = 0;  ///< its size now
  PoolId pool{0};
  /// Ranges that hold nothing and may be used; sorted, disjoint. Fixed versions lie outside these;
  /// the bytes of a fixed version may be used as well once it is dead, or before it lives.
  std::vector<Range> free{};
  /// The page may be left unused and given back, so its bytes count only if it is used.
  bool idle = false;
  /// Submitted work still uses it: giving it back frees its bytes only later.
  bool in_flight = false;
};

/// How a device makes room. `replace` and `add`: a page cannot grow (WebGPU); with `replace` a
/// larger page is made and the old one given back when its work is done, so both are held for a
/// while. `extend`: a page grows in place (CUDA virtual memory).
enum class Growth : std::uint8_t { replace, add, extend };

/// What the device demands of a plan.
struct Device {
  /// The rule of WebGPU: a written version shares no page with one the task only reads.
  bool exclusion = true;
  Bytes max_page_bytes = kWholeSize;  ///< no page may be larger
  Bytes budget = kWholeSize;          ///< sum of the sizes of all pages used
  Bytes page_granularity = 1;         ///< new pages are made in multiples of this
  Bytes binding_alignment = 1;        ///< offsets of bindings round down to multiples of this
  Growth growth = Growth::replace;
};

enum class Mode : std::uint8_t {
  least_memory,  ///< fewest bytes, then fewest barriers
  most_overlap,  ///< may spend `extra` on fewer barriers
};
enum class Order : std::uint8_t {
  program,  ///< tasks run in program order; lifetimes are those of program order
  level,    ///< tasks sorted stably by data level
  free,     ///< the planner takes the better one of those it tries
};

/// What to aim for.
struct Goal {
  Mode mode = Mode::least_memory;
  Order order = Order::program;
  /// most_overlap only: what may be spent, as a share of the least-memory plan …
  double extra_share = 0.10;
  /// … and at least this much.
  Bytes extra_at_least = 0;
  /// Pages beyond this many must save 1 % or, in most_overlap, a barrier.
  std::uint32_t few_pages = 8;
};

/// Two long-lived versions that conflicted, or ran side by side, in earlier windows: better apart.
struct Apart {
  VersionId a;
  VersionId b;
  double weight = 1;
};

/// A window to be planned.
struct Problem {
  std::vector<Version> versions{};
  std::vector<Task> tasks{};
  std::vector<Use> uses{};
  std::vector<InPlacePair> in_place{};
  std::vector<Page> pages{};
  std::vector<Apart> apart{};
  Device device;
  Goal goal;
};

/// A page of the answer. The first Problem::pages.size() of them are the existing pages.
struct PlannedPage {
  Bytes bytes = 0;  ///< extent: the largest end of a version on it, before rounding
  PoolId pool{0};
  bool used = false;  ///< an existing page may stay unused
};

/// What was measured on the answer; every figure is reproducible from Problem and Plan.
struct Statistics {
  Bytes lower_bound = 0;    ///< most bytes live at once in the plan's order
  Bytes peak = 0;           ///< sum of the extents of the used pages
  Bytes to_make = 0;        ///< bytes of new pages, rounded to the granularity
  std::uint32_t pages = 0;  ///< used pages
  std::uint32_t levels = 0;
  std::uint32_t barriers = 0;  ///< as DESIGN defines them: walk the order, clear all at a barrier
  std::uint32_t barriers_demanded = 0;  ///< what the data alone demands, every version on its own
  std::uint32_t hazards = 0;  ///< ordered pairs of tasks (direct) that must not be swapped
  std::uint32_t in_place = 0;
};

/// The answer.
struct Plan {
  std::vector<Place> places{};  ///< per version; unused versions have an invalid page
  std::vector<PlannedPage> pages{};
  std::vector<TaskId> order{};            ///< a permutation of the tasks within the hazards
  std::vector<std::uint32_t> levels{};    ///< per task (by TaskId): its data level, from 0
  std::vector<std::uint32_t> in_place{};  ///< indices into Problem::in_place that were taken
  Statistics statistics;
};

}  // namespace berth::plan
