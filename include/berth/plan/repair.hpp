// SPDX-License-Identifier: Apache-2.0
//
// Repairs: what placement alone cannot solve is solved by rewriting the problem before it is
// placed. A conflict between two fixed places, or between two ranges of one version, becomes copies
// and new versions (relocate, bounce), or a task that is bound all read_write (promote). The
// rewritten problem has no such conflict left, so the placer needs no special case. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan {

enum class RepairKind : std::uint8_t {
  rename,    ///< a whole write starts a new version elsewhere; costs nothing
  relocate,  ///< a fixed version is copied elsewhere before its first conflict, for good
  bounce,    ///< a range is copied to a transient before the task, and back if it is written
  promote,   ///< the task is bound all read_write
};
[[nodiscard]] const char* name_of(RepairKind kind);

/// One repair, in terms of the rewritten problem.
struct Repair {
  RepairKind kind = RepairKind::relocate;
  TaskId task;                   ///< the task that would have broken the rule
  VersionId from;                ///< the version that stood in the way
  VersionId to;                  ///< the new version that takes its part (not for promote)
  std::vector<TaskId> copies{};  ///< the copy tasks that were inserted
  Bytes bytes = 0;               ///< bytes copied
};

/// What repair() may use.
struct RepairOptions {
  bool relocate = true;
  bool bounce = true;
  /// Pool of the transients that bounced ranges go through.
  PoolId bounce_pool{0};
  /// Per task of the problem: nonzero if its promoted variant is compiled. Empty = none.
  std::vector<std::uint8_t> promotable{};
  /// Refuse any repair that copies more than this; kWholeSize = no limit, 0 = no copies at all.
  Bytes max_copy_bytes = kWholeSize;
};

/// A problem without conflicts that placement cannot solve.
struct Repaired {
  Problem problem;
  std::vector<Repair> repairs{};
  /// Per task of `problem`: the task of the original, or invalid for an inserted copy.
  std::vector<TaskId> original{};
};

/// Rewrites `problem` so that place() can solve it. A task of the original keeps the number and the
/// order of its uses.
/// Cost: nothing is copied, and `problem` comes back as it was, where no repair is needed.
/// Errors: Error(unsupported) if no allowed repair solves a conflict, naming task and versions.
[[nodiscard]] Repaired repair(Problem problem, const RepairOptions& options = {});

}  // namespace berth::plan
