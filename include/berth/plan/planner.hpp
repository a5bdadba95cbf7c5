// SPDX-License-Identifier: Apache-2.0
//
// The planner's verbs: place a window, check an answer, bound it from below. Arithmetic on plain
// data; no memory of a device, no device, no global state: safe from any thread. The answer depends
// only on the problem's structure and the seed, never on ids, addresses, time (unless `best` runs
// out of its budget) or hash order.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan {

/// How hard to try.
enum class Effort : std::uint8_t {
  fast,  ///< for every new window: a few microseconds per version at most
  good,  ///< before any new page is made: local search over page assignments
  best,  ///< any-time search until `time` is over; only when asked
};

struct Options {
  Effort effort = Effort::fast;
  std::chrono::milliseconds time{1000};  ///< for `best`
  std::uint64_t seed = 1;
};

/// Why there is no plan.
struct NoPlan {
  enum class Reason : std::uint8_t {
    never_fits,  ///< proven: some version, or the lower bound, exceeds a limit
    not_found,   ///< nothing within the limits was found with this effort
  };
  Reason reason = Reason::not_found;
  Bytes need = 0;         ///< the least need that is known
  Bytes limit = 0;        ///< the limit it exceeds
  std::string message{};  ///< one full sentence with both
};

/// Places every version of `problem`.
/// Returns: a plan that check() accepts, or why there is none.
/// Errors: Error(invalid_argument) if the problem is malformed (see validate()).
[[nodiscard]] std::variant<Plan, NoPlan> place(const Problem& problem, const Options& options = {});

/// Throws Error(invalid_argument) that names the first thing wrong with the problem's data: an id
/// out of range, a range outside its version, an alignment that is no power of two, a fixed place
/// off its page, two uses of a task that forbid each other on one version.
void validate(const Problem& problem);

/// One broken rule.
struct Violation {
  enum class Rule : std::uint8_t {
    missing,   ///< a used version has no place
    off_page,  ///< a version does not lie inside its page's extent
    misaligned,
    page_limit,
    budget,
    pool,         ///< versions of two pools on one page, or on a page of another pool
    moved_fixed,  ///< a fixed version is not where it is fixed
    taken_room,   ///< a version on an existing page outside the page's free ranges
    overlap,      ///< two versions share bytes while both live
    exclusion,    ///< a task writes a version on a page of which it only reads another
    rounding,     ///< two writable uses of one task meet after rounding to the alignment
    order,        ///< the order breaks a hazard, or is no permutation
    in_place,     ///< a taken pair that is not allowed
    statistics,   ///< a figure of the plan is wrong
  };
  Rule rule = Rule::missing;
  std::vector<TaskId> tasks{};
  std::vector<VersionId> versions{};
  PageId page;
  std::string message{};  ///< one full sentence that names rule, tasks, versions, page, numbers
};

/// Checks an answer against every rule. Shares no code with place().
/// Returns: the broken rules; empty means the plan is right.
[[nodiscard]] std::vector<Violation> check(const Problem& problem, const Plan& plan);

/// Fills in what a plan made elsewhere (by mapping task after task, say) leaves open: page extents,
/// levels and statistics. Places, number and pools of the pages, and the order are given.
void assess(const Problem& problem, Plan& plan);

/// Most bytes live at once when the tasks run in `order` (aligned sizes): no plan can need less.
[[nodiscard]] Bytes lower_bound(const Problem& problem, const std::vector<TaskId>& order);

/// The barriers of an order with placed versions (DESIGN, section 6): walk the tasks; one carries a
/// barrier if it touches a page written, or writes a page read, since the last barrier; a barrier
/// clears all state.
[[nodiscard]] std::uint32_t count_barriers(const Problem& problem, const Plan& plan);

}  // namespace berth::plan
