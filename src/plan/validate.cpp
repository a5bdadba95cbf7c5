// SPDX-License-Identifier: Apache-2.0
//
// validate(): refuses a malformed problem with one sentence that names the first thing wrong.
// It judges the data alone; whether a well-formed problem has a plan is for place() to say.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "berth/error.hpp"
#include "berth/plan/planner.hpp"

namespace berth::plan {
namespace {

/// Sums of sizes stay far from 64 bits, so nothing after validate() needs an overflow check.
constexpr Bytes kMostBytes = Bytes{1} << 60;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorCode::invalid_argument, sentence);
}

std::string text(Bytes value) { return std::to_string(value); }
std::string version_name(VersionId v) { return "version " + std::to_string(v.value); }
std::string task_name(std::size_t t) { return "task " + std::to_string(t); }
std::string range_text(Range r) { return "[" + text(r.offset) + ", " + text(r.end()) + ")"; }

bool inside(Range range, Bytes bytes) {
  return range.offset <= bytes && range.bytes <= bytes - range.offset;
}

void validate_device(const Device& device) {
  if (device.page_granularity == 0) refuse("The page granularity is 0; it must be at least 1.");
  if (device.page_granularity > kMostBytes) {
    refuse("The page granularity is " + text(device.page_granularity) + " bytes; the limit is " +
           text(kMostBytes) + ".");
  }
  if (!std::has_single_bit(device.binding_alignment)) {
    refuse("The binding alignment is " + text(device.binding_alignment) +
           "; it must be a power of two.");
  }
}

void validate_goal(const Goal& goal) {
  if (!std::isfinite(goal.extra_share) || goal.extra_share < 0) {
    refuse("The extra share of memory must be a finite number that is not negative.");
  }
}

void validate_pages(const Problem& problem) {
  Bytes total = 0;
  for (std::size_t p = 0; p < problem.pages.size(); ++p) {
    const Page& page = problem.pages[p];
    const std::string name = "page " + std::to_string(p);
    total += std::min(page.bytes, kMostBytes);
    if (page.bytes > kMostBytes || total > kMostBytes) {
      refuse("The existing pages up to " + name + " exceed the limit of " + text(kMostBytes) +
             " bytes.");
    }
    Bytes end = 0;
    for (const Range& range : page.free) {
      if (!inside(range, page.bytes)) {
        refuse("A free range of " + name + " has offset " + text(range.offset) + " and " +
               text(range.bytes) + " bytes, but the page has only " + text(page.bytes) + ".");
      }
      if (range.offset < end) {
        refuse("The free range " + range_text(range) + " of " + name +
               " starts before the one in front of it ends, at " + text(end) +
               "; free ranges are sorted and disjoint.");
      }
      end = range.end();
    }
  }
}

void validate_fixed(const Problem& problem, VersionId id) {
  const Version& version = problem.versions[id.index()];
  const Place place = *version.fixed;
  const std::string name = version_name(id);
  if (place.page.index() >= problem.pages.size()) {
    refuse("The fixed place of " + name + " is on page " + std::to_string(place.page.value) +
           ", but the problem has " + std::to_string(problem.pages.size()) + " pages.");
  }
  const Page& page = problem.pages[place.page.index()];
  const std::string page_name = "page " + std::to_string(place.page.value);
  if (!inside({place.offset, version.bytes}, page.bytes)) {
    refuse("The fixed place of " + name + " has offset " + text(place.offset) + " and " +
           text(version.bytes) + " bytes, which is off " + page_name + " of " + text(page.bytes) +
           " bytes.");
  }
  if (page.pool != version.pool) {
    refuse("The fixed place of " + name + " is on " + page_name + " of pool " +
           std::to_string(page.pool.value) + ", but the version belongs to pool " +
           std::to_string(version.pool.value) + ".");
  }
  const Range taken{place.offset, version.bytes};
  const auto after = std::partition_point(page.free.begin(), page.free.end(),
                                          [&](Range r) { return r.end() <= taken.offset; });
  if (after != page.free.end() && after->overlaps(taken)) {
    refuse("The fixed place " + range_text(taken) + " of " + name + " meets the free range " +
           range_text(*after) + " of " + page_name + ".");
  }
}

void validate_versions(const Problem& problem) {
  Bytes total = 0;
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const VersionId id{static_cast<std::uint32_t>(v)};
    const Version& version = problem.versions[v];
    if (!std::has_single_bit(version.alignment) || version.alignment > kMostBytes) {
      refuse("The alignment of " + version_name(id) + " is " + text(version.alignment) +
             "; it must be a power of two.");
    }
    total += align_up(std::min(version.bytes, kMostBytes), version.alignment);
    if (version.bytes > kMostBytes || total > kMostBytes) {
      refuse("The versions up to " + version_name(id) + " exceed the limit of " + text(kMostBytes) +
             " bytes.");
    }
    if (version.fixed) validate_fixed(problem, id);
  }
}

/// Uses of one version by one task: reads may overlap reads, nothing else may overlap.
void validate_overlaps(std::size_t task, std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.version != b.version ? a.version < b.version : a.range < b.range;
  });
  const Use* furthest = nullptr;         // the use of this version that reaches furthest
  const Use* furthest_writer = nullptr;  // the same among the writing ones
  for (const Use& use : uses) {
    if (furthest != nullptr && furthest->version != use.version) {
      furthest = furthest_writer = nullptr;
    }
    const Use* rival = writes(use.access) ? furthest : furthest_writer;
    if (rival != nullptr && rival->range.overlaps(use.range)) {
      refuse("In " + task_name(task) + ", " + name_of(rival->access) + " of " +
             range_text(rival->range) + " and " + name_of(use.access) + " of " +
             range_text(use.range) + " overlap in " + version_name(use.version) +
             "; a written range may have no other use in its task.");
    }
    if (use.range.empty()) continue;
    if (furthest == nullptr || use.range.end() > furthest->range.end()) furthest = &use;
    if (writes(use.access) &&
        (furthest_writer == nullptr || use.range.end() > furthest_writer->range.end())) {
      furthest_writer = &use;
    }
  }
}

void validate_tasks(const Problem& problem) {
  std::vector<Use> scratch;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const Task& task = problem.tasks[t];
    if (task.first_use > problem.uses.size() ||
        task.use_count > problem.uses.size() - task.first_use) {
      refuse("The uses [" + std::to_string(task.first_use) + ", " +
             std::to_string(std::uint64_t{task.first_use} + task.use_count) + ") of " +
             task_name(t) + " are out of range; the problem has " +
             std::to_string(problem.uses.size()) + " uses.");
    }
    bool repeated = false;
    for (std::uint32_t u = 0; u < task.use_count; ++u) {
      const Use& use = problem.uses[task.first_use + u];
      if (use.version.index() >= problem.versions.size()) {
        refuse("A use in " + task_name(t) + " names " + version_name(use.version) +
               ", but the problem has " + std::to_string(problem.versions.size()) + " versions.");
      }
      const Bytes bytes = problem.versions[use.version.index()].bytes;
      if (!inside(use.range, bytes)) {
        refuse("A use in " + task_name(t) + " has offset " + text(use.range.offset) + " and " +
               text(use.range.bytes) + " bytes, which is outside " + version_name(use.version) +
               " of " + text(bytes) + " bytes.");
      }
      // Most tasks have a handful of uses: look back at a few before sorting anything.
      for (std::uint32_t w = 0; w < u && w < 16 && !repeated; ++w) {
        repeated = problem.uses[task.first_use + w].version == use.version;
      }
      repeated = repeated || u >= 16;
    }
    if (!repeated) continue;
    scratch.assign(problem.uses.begin() + task.first_use,
                   problem.uses.begin() + task.first_use + task.use_count);
    validate_overlaps(t, scratch);
  }
}

void validate_pairs(const Problem& problem) {
  const auto known = [&](VersionId v) { return v.index() < problem.versions.size(); };
  for (std::size_t i = 0; i < problem.in_place.size(); ++i) {
    const InPlacePair& pair = problem.in_place[i];
    if (pair.task.index() >= problem.tasks.size() || !known(pair.input) || !known(pair.output)) {
      refuse("The in-place pair " + std::to_string(i) +
             " names a task or a version that the problem does not have.");
    }
  }
  for (std::size_t i = 0; i < problem.apart.size(); ++i) {
    const Apart& apart = problem.apart[i];
    if (!known(apart.a) || !known(apart.b) || !std::isfinite(apart.weight)) {
      refuse("The pair " + std::to_string(i) +
             " to keep apart names a version that the problem does not have, or its weight is no "
             "finite number.");
    }
  }
}

}  // namespace

void validate(const Problem& problem) {
  constexpr std::size_t kMostIds = std::size_t{1} << 30;
  if (problem.versions.size() > kMostIds || problem.tasks.size() > kMostIds ||
      problem.uses.size() > kMostIds || problem.pages.size() > kMostIds) {
    refuse("The problem has more than " + std::to_string(kMostIds) +
           " versions, tasks, uses or pages.");
  }
  validate_device(problem.device);
  validate_goal(problem.goal);
  validate_pages(problem);
  validate_versions(problem);
  validate_tasks(problem);
  validate_pairs(problem);
}

}  // namespace berth::plan
