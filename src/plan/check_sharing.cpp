// SPDX-License-Identifier: Apache-2.0
//
// The checker's rules about sharing: bytes over time (overlap), and pages within one task
// (exclusion, rounding). Sweeps, so that 100,000 versions take well under a second. See check.hpp.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "plan/check.hpp"

namespace berth::plan::checker {
namespace {

VersionId version_id(std::size_t version) { return VersionId(static_cast<std::uint32_t>(version)); }

/// A birth or a death on a page. At one tick the dead leave before the new ones come.
struct Event {
  std::uint32_t page = 0;
  std::uint32_t tick = 0;
  bool birth = false;
  std::uint32_t version = 0;
};

/// A fixed version that no task uses lies there all the same, wherever the plan says nothing.
Place place_of(const Subject& subject, std::size_t v) {
  const Version& version = subject.problem.versions[v];
  if (version.fixed && !subject.placed(v)) return *version.fixed;
  return v < subject.plan.places.size() ? subject.plan.places[v] : Place{};
}

/// The life as the page sees it: an input that is taken over ends before its task; a fixed version
/// that is wanted before and after the window holds its bytes even if no task uses it.
Life life_on_page(const Subject& subject, const Timeline& timeline, std::size_t v) {
  const Version& version = subject.problem.versions[v];
  Life life = timeline.lives[v];
  if (timeline.heir_tick[v] != 0) life.end = timeline.heir_tick[v];
  if (life.empty() && timeline.heir_tick[v] == 0 && version.fixed && version.incoming &&
      version.outlives) {
    life = {0, tick_of(static_cast<std::uint32_t>(subject.problem.tasks.size())) + 1};
  }
  return life;
}

std::vector<Event> events_of(const Subject& subject, const Timeline& timeline) {
  const auto& [problem, plan] = subject;
  std::vector<Event> events;
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (problem.versions[v].bytes == 0 || place_of(subject, v).page.index() >= plan.pages.size()) {
      continue;
    }
    const Life life = life_on_page(subject, timeline, v);
    if (life.empty()) continue;
    const std::uint32_t page = place_of(subject, v).page.value;
    const auto version = static_cast<std::uint32_t>(v);
    events.push_back({page, life.begin, true, version});
    events.push_back({page, life.end, false, version});
  }
  std::ranges::sort(events, [](const Event& a, const Event& b) {
    return std::tie(a.page, a.tick, a.birth, a.version) <
           std::tie(b.page, b.tick, b.birth, b.version);
  });
  return events;
}

void add_overlap(const Subject& subject, const Timeline& timeline, std::uint32_t a, std::uint32_t b,
                 Findings& findings) {
  const auto& [problem, plan] = subject;
  const auto text = [&](std::uint32_t v) {
    const Life life = life_on_page(subject, timeline, v);
    return version_text(problem, v) + " at " +
           range_text({place_of(subject, v).offset, problem.versions[v].bytes}) +
           ", live in ticks " + std::to_string(life.begin) + " to " + std::to_string(life.end - 1);
  };
  // The later birth is where they meet: a task that finds the other one's bytes in use.
  const std::uint32_t met =
      std::max(life_on_page(subject, timeline, a).begin, life_on_page(subject, timeline, b).begin);
  std::vector<TaskId> tasks;
  if (met != 0 && met <= plan.order.size()) tasks.push_back(plan.order[met - 1]);
  const std::string where = tasks.empty() ? std::string("before the first task")
                                          : "at task " + std::to_string(tasks.front().value) +
                                                " (tick " + std::to_string(met) + ")";
  findings.add(Rule::overlap,
               {.tasks = std::move(tasks),
                .versions = {version_id(a), version_id(b)},
                .page = place_of(subject, a).page},
               "on page " + std::to_string(place_of(subject, a).page.value) + " " + text(a) +
                   ", and " + text(b) + ", share bytes " + where + ".");
}

/// What a task binds of a page.
struct Bound {
  std::uint32_t page = 0;
  Range range;
  VersionId version;
  bool writing = false;
  bool any_offset = false;
};

/// The uses of a task that bind bytes of a page and are no input that its output took over.
void gather_bound(const Subject& subject, const Timeline& timeline, std::size_t task,
                  std::vector<Bound>& bound) {
  const auto& [problem, plan] = subject;
  const Task& t = problem.tasks[task];
  bound.clear();
  for (std::uint32_t u = t.first_use; u < t.first_use + t.use_count; ++u) {
    const Use& use = problem.uses[u];
    const std::size_t v = use.version.index();
    if (use.range.empty() || problem.versions[v].bytes == 0 || !subject.placed(v) ||
        timeline.handed_over[u]) {
      continue;
    }
    const Place& place = plan.places[v];
    bound.push_back({place.page.value,
                     {place.offset + use.range.offset, use.range.bytes},
                     use.version,
                     (t.promoted && !use.argument) || writes(use.access),
                     use.any_offset});
  }
}

/// A binding starts at a multiple of the device's alignment unless its use says otherwise.
void check_binding_offsets(const Subject& subject, std::size_t task,
                           const std::vector<Bound>& bound, Findings& findings) {
  const Bytes alignment = std::max<Bytes>(subject.problem.device.binding_alignment, 1);
  for (const Bound& use : bound) {
    if (use.any_offset || use.range.offset % alignment == 0) continue;
    findings.add(Rule::misaligned,
                 {.tasks = {TaskId(static_cast<std::uint32_t>(task))},
                  .versions = {use.version},
                  .page = PageId(use.page)},
                 task_text(task) + " binds bytes " + range_text(use.range) + " of page " +
                     std::to_string(use.page) + " for " +
                     version_text(subject.problem, use.version.index()) +
                     ", and a binding starts at a multiple of " + std::to_string(alignment) + ".");
  }
}

void check_exclusion(const Subject& subject, std::size_t task, const std::vector<Bound>& bound,
                     std::vector<std::pair<std::size_t, VersionId>>& writer, Findings& findings) {
  for (const Bound& use : bound) {
    if (use.writing) writer[use.page] = {task + 1, use.version};
  }
  for (const Bound& use : bound) {
    const auto& [stamp, written] = writer[use.page];
    if (use.writing || stamp != task + 1) continue;
    findings.add(Rule::exclusion,
                 {.tasks = {TaskId(static_cast<std::uint32_t>(task))},
                  .versions = {written, use.version},
                  .page = PageId(use.page)},
                 "" + task_text(task) + " writes " +
                     version_text(subject.problem, written.index()) + " and only reads " +
                     version_text(subject.problem, use.version.index()) + ", both on page " +
                     std::to_string(use.page) + ".");
  }
}

void check_rounding(const Subject& subject, std::size_t task, std::vector<Bound>& bound,
                    Findings& findings) {
  const Bytes alignment = std::max<Bytes>(subject.problem.device.binding_alignment, 1);
  std::erase_if(bound, [](const Bound& use) { return !use.writing; });
  std::ranges::sort(bound, [](const Bound& a, const Bound& b) {
    return std::tie(a.page, a.range) < std::tie(b.page, b.range);
  });
  std::size_t furthest = 0;  // of the bindings before i on its page, the one that ends last
  for (std::size_t i = 1; i < bound.size(); ++i) {
    if (bound[furthest].page != bound[i].page) {
      furthest = i;
      continue;
    }
    const Bytes rounded = align_down(bound[i].range.offset, alignment);
    if (rounded < bound[furthest].range.end()) {
      findings.add(Rule::rounding,
                   {.tasks = {TaskId(static_cast<std::uint32_t>(task))},
                    .versions = {bound[furthest].version, bound[i].version},
                    .page = PageId(bound[i].page)},
                   "" + task_text(task) + " binds writable bytes " +
                       range_text(bound[furthest].range) + " of " +
                       version_text(subject.problem, bound[furthest].version.index()) + " and " +
                       range_text(bound[i].range) + " of " +
                       version_text(subject.problem, bound[i].version.index()) + " on page " +
                       std::to_string(bound[i].page) +
                       ", which meet once offsets are rounded down to multiples of " +
                       std::to_string(alignment) + ".");
    }
    if (bound[i].range.end() > bound[furthest].range.end()) furthest = i;
  }
}

}  // namespace

void check_overlap(const Subject& subject, const Timeline& timeline, Findings& findings) {
  if (!timeline.known) return;
  const auto& [problem, plan] = subject;
  std::map<Bytes, std::uint32_t> live;  // by offset; disjoint, so neighbours are all that can meet
  std::uint32_t page = PageId::kNone;
  for (const Event& event : events_of(subject, timeline)) {
    if (event.page != page) live.clear();
    page = event.page;
    const Range range{place_of(subject, event.version).offset,
                      problem.versions[event.version].bytes};
    auto next = live.lower_bound(range.offset);
    if (!event.birth) {
      if (next != live.end() && next->second == event.version) live.erase(next);
      continue;
    }
    const auto meets = [&](auto neighbour) {
      const std::uint32_t other = neighbour->second;
      const Range taken{neighbour->first, problem.versions[other].bytes};
      if (!taken.overlaps(range)) return false;
      add_overlap(subject, timeline, other, event.version, findings);
      return true;
    };
    bool apart = next == live.end() || !meets(next);
    if (next != live.begin() && meets(std::prev(next))) apart = false;
    if (apart) live.emplace(range.offset, event.version);
  }
}

void check_visibility(const Subject& subject, const Timeline& timeline, Findings& findings) {
  const auto& [problem, plan] = subject;
  std::vector<std::pair<std::size_t, VersionId>> writer(plan.pages.size());
  std::vector<Bound> bound;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    gather_bound(subject, timeline, t, bound);
    check_binding_offsets(subject, t, bound, findings);
    if (!problem.device.exclusion) continue;
    check_exclusion(subject, t, bound, writer, findings);
    check_rounding(subject, t, bound, findings);
  }
}

}  // namespace berth::plan::checker
