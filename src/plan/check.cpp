// SPDX-License-Identifier: Apache-2.0
//
// check() of berth/plan/planner.hpp: judges a plan against every rule, from the definitions alone.
// Shares no code with the placer, trusts no figure of the plan, and reports at most kMostPerRule
// violations of one rule. Near-linear: sweeps over time, no pair of versions is compared twice.
#include "plan/check.hpp"

#include <algorithm>
#include <string>

#include "berth/plan/planner.hpp"

namespace berth::plan {
namespace checker {

namespace {

const char* name_of(Rule rule) {
  switch (rule) {
    case Rule::missing:
      return "missing";
    case Rule::off_page:
      return "off_page";
    case Rule::misaligned:
      return "misaligned";
    case Rule::page_limit:
      return "page_limit";
    case Rule::budget:
      return "budget";
    case Rule::pool:
      return "pool";
    case Rule::moved_fixed:
      return "moved_fixed";
    case Rule::taken_room:
      return "taken_room";
    case Rule::overlap:
      return "overlap";
    case Rule::exclusion:
      return "exclusion";
    case Rule::rounding:
      return "rounding";
    case Rule::order:
      return "order";
    case Rule::in_place:
      return "in_place";
    case Rule::statistics:
      return "statistics";
  }
  return "?";
}

}  // namespace

void Findings::add(Rule rule, Where where, const std::string& sentence) {
  std::size_t& count = counts_[static_cast<std::size_t>(rule)];
  if (count++ >= kMostPerRule) return;
  found_.push_back({rule, std::move(where.tasks), std::move(where.versions), where.page,
                    std::string("Rule ") + name_of(rule) + ": " + sentence});
}

namespace {

/// Finds versions without a usable place. Everything after it may trust placed().
void check_missing(const Subject& subject, Findings& findings) {
  const auto& [problem, plan] = subject;
  if (plan.places.size() != problem.versions.size() || plan.pages.size() < problem.pages.size()) {
    findings.add(Rule::missing, {},
                 "the plan has " + std::to_string(plan.places.size()) + " places for " +
                     std::to_string(problem.versions.size()) + " versions, and " +
                     std::to_string(plan.pages.size()) + " pages where the problem already has " +
                     std::to_string(problem.pages.size()) + ".");
  }
  std::vector<bool> seen(problem.versions.size(), false);
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    for (const Use& use : uses_of(problem, t)) {
      const std::size_t v = use.version.index();
      if (seen[v] || problem.versions[v].bytes == 0 || subject.placed(v)) continue;
      seen[v] = true;
      findings.add(
          Rule::missing,
          {.tasks = {TaskId(static_cast<std::uint32_t>(t))},
           .versions = {use.version},
           .page = v < plan.places.size() ? plan.places[v].page : PageId{}},
          "" + version_text(problem, v) + " of " + std::to_string(problem.versions[v].bytes) +
              " bytes has no place on a page of the plan, though " + task_text(t) + " uses it.");
    }
  }
}

void check_place(const Subject& subject, std::size_t v, Findings& findings) {
  const auto& [problem, plan] = subject;
  const Version& version = problem.versions[v];
  const Place& place = plan.places[v];
  const PlannedPage& page = plan.pages[place.page.index()];
  const std::string who = version_text(problem, v) + " of " + std::to_string(version.bytes) +
                          " bytes lies at offset " + std::to_string(place.offset) + " of page " +
                          std::to_string(place.page.value);
  const auto add = [&](Rule rule, const std::string& rest) {
    findings.add(rule, {.versions = {VersionId(static_cast<std::uint32_t>(v))}, .page = place.page},
                 who + rest);
  };
  if (place.offset > page.bytes || version.bytes > page.bytes - place.offset) {
    add(Rule::off_page, ", and that page has only " + std::to_string(page.bytes) + " bytes.");
  }
  // An imported buffer stands where it stands; only the planner's own choices must be aligned.
  if (!version.fixed && place.offset % std::max<Bytes>(version.alignment, 1) != 0) {
    add(Rule::misaligned,
        ", which is no multiple of its alignment of " + std::to_string(version.alignment) + ".");
  }
  if (version.pool != page.pool) {
    add(Rule::pool, ", and that page is of pool " + std::to_string(page.pool.value) +
                        " while the version is of pool " + std::to_string(version.pool.value) +
                        ".");
  }
  if (version.fixed && *version.fixed != place) {
    add(Rule::moved_fixed, ", though it is fixed at offset " +
                               std::to_string(version.fixed->offset) + " of page " +
                               std::to_string(version.fixed->page.value) + ".");
  }
}

/// The bytes past an existing page's end are room only if that page may become larger.
bool may_grow(const Problem& problem, const Page& page) {
  switch (problem.device.growth) {
    case Growth::extend:
      return true;
    case Growth::replace:
      return page.idle;
    case Growth::add:
      return false;
  }
  return false;
}

/// Per existing page: its free ranges and those of its fixed versions, which others may use while
/// these are dead (overlap judges that). Sorted; neighbours may touch or overlap.
std::vector<std::vector<Range>> rooms_of(const Problem& problem) {
  std::vector<std::vector<Range>> rooms;
  rooms.reserve(problem.pages.size());
  for (const Page& page : problem.pages) rooms.push_back(page.free);
  for (const Version& version : problem.versions) {
    if (!version.fixed || version.fixed->page.index() >= rooms.size()) continue;
    rooms[version.fixed->page.index()].push_back({version.fixed->offset, version.bytes});
  }
  for (std::vector<Range>& room : rooms) {
    std::ranges::sort(room);
    // Joined, so that a search by end finds the first range that reaches past an offset.
    std::vector<Range> joined;
    for (const Range& range : room) {
      if (range.empty()) continue;
      if (joined.empty() || range.offset > joined.back().end()) {
        joined.push_back(range);
      } else {
        joined.back().bytes = std::max(joined.back().end(), range.end()) - joined.back().offset;
      }
    }
    room = std::move(joined);
  }
  return rooms;
}

void check_room(const Subject& subject, std::size_t v, const std::vector<std::vector<Range>>& rooms,
                Findings& findings) {
  const auto& [problem, plan] = subject;
  const Place& place = plan.places[v];
  const Version& version = problem.versions[v];
  if (place.page.index() >= problem.pages.size() || version.fixed) return;
  const Page& page = problem.pages[place.page.index()];
  Range rest{place.offset, version.bytes};
  const std::vector<Range>& room = rooms[place.page.index()];
  const auto next = std::ranges::upper_bound(room, rest.offset, {}, &Range::end);
  if (next != room.end() && next->offset <= rest.offset) {
    const Bytes until = std::min(next->end(), rest.end());
    rest = {until, rest.end() - until};
  }
  if (rest.empty() || (rest.offset >= page.bytes && may_grow(problem, page))) return;
  findings.add(Rule::taken_room,
               {.versions = {VersionId(static_cast<std::uint32_t>(v))}, .page = place.page},
               "" + version_text(problem, v) + " takes bytes " +
                   range_text({place.offset, version.bytes}) + " of page " +
                   std::to_string(place.page.value) + ", which has " + std::to_string(page.bytes) +
                   " bytes, but byte " + std::to_string(rest.offset) + " is not free there.");
}

void check_pages(const Subject& subject, Findings& findings) {
  const auto& [problem, plan] = subject;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PageId id(static_cast<std::uint32_t>(p));
    const PlannedPage& page = plan.pages[p];
    const bool exists = p < problem.pages.size();
    if (page.bytes > problem.device.max_page_bytes &&
        (!exists || page.bytes > problem.pages[p].bytes)) {
      findings.add(Rule::page_limit, {.page = id},
                   "page " + std::to_string(p) + " has " + std::to_string(page.bytes) +
                       " bytes, above the limit of " +
                       std::to_string(problem.device.max_page_bytes) + " per page.");
    }
    if (exists && page.pool != problem.pages[p].pool) {
      findings.add(Rule::pool, {.page = id},
                   "page " + std::to_string(p) + " exists in pool " +
                       std::to_string(problem.pages[p].pool.value) +
                       ", but the plan takes it for pool " + std::to_string(page.pool.value) + ".");
    }
  }
  const Bytes held = bytes_held(subject);
  if (held > problem.device.budget) {
    findings.add(Rule::budget, {},
                 "the pages of the plan have " + std::to_string(held) +
                     " bytes together, above the budget of " +
                     std::to_string(problem.device.budget) + ".");
  }
}

}  // namespace

bool Subject::placed(std::size_t v) const {
  return v < plan.places.size() && plan.places[v].page.index() < plan.pages.size();
}

Bytes bytes_held(const Subject& subject) {
  const auto& [problem, plan] = subject;
  Bytes held = 0;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    const Bytes rounded = align_up(page.bytes, std::max<Bytes>(problem.device.page_granularity, 1));
    if (p >= problem.pages.size()) {
      held += page.used ? rounded : 0;
      continue;
    }
    const Page& existing = problem.pages[p];
    if (page.used || !existing.idle) {
      held += page.bytes > existing.bytes ? rounded : existing.bytes;
    }
  }
  return held;
}

}  // namespace checker

std::vector<Violation> check(const Problem& problem, const Plan& plan) {
  using namespace checker;
  require_indices(problem);
  const Subject subject{problem, plan};
  Findings findings;
  check_missing(subject, findings);
  check_pages(subject, findings);
  Timeline timeline = check_order(subject, findings);
  check_in_place(subject, timeline, findings);
  const std::vector<std::vector<Range>> rooms = rooms_of(problem);
  std::vector<bool> used(problem.versions.size(), false);
  for (const Use& use : problem.uses) {
    if (use.version.index() < used.size()) used[use.version.index()] = true;
  }
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (!used[v] || problem.versions[v].bytes == 0 || !subject.placed(v)) continue;
    check_place(subject, v, findings);
    check_room(subject, v, rooms, findings);
  }
  check_overlap(subject, timeline, findings);
  check_visibility(subject, timeline, findings);
  check_statistics(subject, timeline, findings);
  return std::move(findings).take();
}

}  // namespace berth::plan
