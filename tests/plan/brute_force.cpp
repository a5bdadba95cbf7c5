// SPDX-License-Identifier: Apache-2.0
//
// The planner's definitions, written plainly. See brute_force.hpp.
#include "brute_force.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace berth::plan::brute {
namespace {

std::span<const Use> uses(const Problem& problem, std::size_t task) {
  return {problem.uses.data() + problem.tasks[task].first_use, problem.tasks[task].use_count};
}

Bytes room(const Problem& problem, std::size_t v) {
  return align_up(problem.versions[v].bytes, problem.versions[v].alignment);
}

/// Moments at which a version holds bytes: 0, 1 … n for the positions + 1, n + 1 for the end.
std::set<std::size_t> moments(const Problem& problem, const std::vector<TaskId>& order,
                              std::size_t v) {
  std::set<std::size_t> at;
  for (std::size_t position = 0; position < order.size(); ++position) {
    for (const Use& use : uses(problem, order[position].index())) {
      if (use.version.index() == v) at.insert(position + 1);
    }
  }
  if (at.empty()) return at;
  if (problem.versions[v].incoming) at.insert(0);
  if (problem.versions[v].outlives) at.insert(order.size() + 1);
  for (std::size_t moment = *at.begin(); moment < *at.rbegin(); ++moment) at.insert(moment);
  return at;
}

/// First and last moment of each version; last < first: not used.
struct Span {
  std::size_t first = 1;
  std::size_t last = 0;
};

std::vector<Span> spans(const Problem& problem, const std::vector<TaskId>& order) {
  std::vector<Span> result(problem.versions.size());
  for (std::size_t v = 0; v < result.size(); ++v) {
    const std::set<std::size_t> at = moments(problem, order, v);
    if (!at.empty()) result[v] = {*at.begin(), *at.rbegin()};
  }
  return result;
}

/// The smallest extent of each set of versions as one page: all orders of stacking are tried, each
/// version as low as those below it allow. Sets are bit masks over `used`.
class Pages {
 public:
  Pages(const Problem& problem, const std::vector<TaskId>& order) : problem_(problem) {
    const std::vector<Span> span = spans(problem, order);
    for (std::size_t v = 0; v < span.size(); ++v) {
      if (span[v].first <= span[v].last && problem.versions[v].bytes != 0) used_.push_back(v);
    }
    for (const std::size_t a : used_) {
      std::uint32_t together = 0;
      std::uint32_t apart = 0;
      for (std::size_t i = 0; i < used_.size(); ++i) {
        const std::size_t b = used_[i];
        if (a == b) continue;
        const std::uint32_t bit = 1U << i;
        if (span[a].first <= span[b].last && span[b].first <= span[a].last) together |= bit;
        if (conflict(problem, a, b) || problem.versions[a].pool != problem.versions[b].pool) {
          apart |= bit;
        }
      }
      together_.push_back(together);
      apart_.push_back(apart);
    }
  }

  [[nodiscard]] std::size_t count() const { return used_.size(); }

  /// kWholeSize if two versions of the set must be apart, or the page is above the limit.
  Bytes extent(std::uint32_t set) {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if ((set >> i & 1U) != 0 && (apart_[i] & set) != 0) return kWholeSize;
    }
    best_ = kWholeSize;
    ends_.assign(used_.size(), 0);
    stack(set, 0, 0);
    return best_ > problem_.device.max_page_bytes ? kWholeSize : best_;
  }

 private:
  void stack(std::uint32_t left, std::uint32_t placed, Bytes height) {
    if (height >= best_) return;
    if (left == 0) {
      best_ = height;
      return;
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if ((left >> i & 1U) == 0) continue;
      Bytes offset = 0;
      for (std::size_t below = 0; below < used_.size(); ++below) {
        if ((placed & together_[i]) >> below & 1U) offset = std::max(offset, ends_[below]);
      }
      const Bytes start = align_up(offset, problem_.versions[used_[i]].alignment);
      ends_[i] = start + room(problem_, used_[i]);
      stack(left & ~(1U << i), placed | 1U << i, std::max(height, ends_[i]));
    }
  }

  const Problem& problem_;
  std::vector<std::size_t> used_;
  std::vector<std::uint32_t> together_;  ///< per used version: those that are live with it
  std::vector<std::uint32_t> apart_;     ///< per used version: those that may not share its page
  std::vector<Bytes> ends_;
  Bytes best_ = kWholeSize;
};

}  // namespace

std::vector<TaskId> program_order(const Problem& problem) {
  std::vector<TaskId> order;
  order.reserve(problem.tasks.size());
  for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) order.emplace_back(t);
  return order;
}

std::vector<TaskId> level_order(const Problem& problem) {
  std::vector<TaskId> order = program_order(problem);
  const std::vector<std::uint32_t> level = levels(problem);
  std::ranges::sort(order, {}, [&](TaskId task) { return std::pair(level[task.index()], task); });
  return order;
}

bool hazard(const Problem& problem, std::size_t a, std::size_t b) {
  for (const Use& x : uses(problem, a)) {
    for (const Use& y : uses(problem, b)) {
      if (x.version == y.version && x.range.overlaps(y.range) &&
          (writes(x.access) || writes(y.access))) {
        return true;
      }
    }
  }
  return false;
}

std::size_t direct_hazards(const Problem& problem) {
  const auto uses_version = [&](std::size_t task, VersionId version, bool only_writes) {
    return std::ranges::any_of(uses(problem, task), [&](const Use& use) {
      return use.version == version && !use.range.empty() && (!only_writes || writes(use.access));
    });
  };
  const auto direct = [&](std::size_t a, std::size_t b) {
    return std::ranges::any_of(uses(problem, a), [&](const Use& use) {
      if (use.range.empty() || !uses_version(b, use.version, !writes(use.access))) return false;
      for (std::size_t between = a + 1; between < b; ++between) {
        if (uses_version(between, use.version, true)) return false;
      }
      return true;
    });
  };
  std::size_t count = 0;
  for (std::size_t b = 0; b < problem.tasks.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) count += direct(a, b) ? 1U : 0U;
  }
  return count;
}

std::vector<std::uint32_t> levels(const Problem& problem) {
  std::vector<std::uint32_t> level(problem.tasks.size(), 0);
  for (std::size_t b = 0; b < level.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (hazard(problem, a, b)) level[b] = std::max(level[b], level[a] + 1);
    }
  }
  return level;
}

Bytes max_live(const Problem& problem, const std::vector<TaskId>& order) {
  std::vector<Bytes> live(order.size() + 2, 0);
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    for (const std::size_t moment : moments(problem, order, v)) live[moment] += room(problem, v);
  }
  return *std::ranges::max_element(live);
}

std::uint32_t barriers(const Problem& problem, const std::vector<TaskId>& order,
                       const std::vector<Place>& places) {
  std::uint32_t count = 0;
  std::set<std::uint32_t> written;
  std::set<std::uint32_t> read;
  for (const TaskId task : order) {
    bool barrier = false;
    for (const Use& use : uses(problem, task.index())) {
      if (use.range.empty()) continue;
      const std::uint32_t page = places[use.version.index()].page.value;
      if (written.contains(page)) barrier = true;
      if (writes(use.access) && read.contains(page)) barrier = true;
    }
    if (barrier) {
      ++count;
      written.clear();
      read.clear();
    }
    for (const Use& use : uses(problem, task.index())) {
      if (use.range.empty()) continue;
      (writes(use.access) ? written : read).insert(places[use.version.index()].page.value);
    }
  }
  return count;
}

bool live_together(const Problem& problem, const std::vector<TaskId>& order, std::size_t a,
                   std::size_t b) {
  const std::set<std::size_t> of_a = moments(problem, order, a);
  const std::set<std::size_t> of_b = moments(problem, order, b);
  return std::ranges::any_of(of_a, [&](std::size_t moment) { return of_b.contains(moment); });
}

bool conflict(const Problem& problem, std::size_t a, std::size_t b) {
  if (!problem.device.exclusion) return false;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    bool read_a = false;
    bool read_b = false;
    bool written_a = false;
    bool written_b = false;
    for (const Use& use : uses(problem, t)) {
      if (use.range.empty()) continue;
      bool& seen_a = writes(use.access) ? written_a : read_a;
      bool& seen_b = writes(use.access) ? written_b : read_b;
      if (use.version.index() == a) seen_a = true;
      if (use.version.index() == b) seen_b = true;
    }
    if ((written_a && read_b) || (written_b && read_a)) return true;
  }
  return false;
}

Bytes optimum(const Problem& problem, const std::vector<TaskId>& order) {
  Pages pages(problem, order);
  const std::uint32_t sets = 1U << pages.count();
  std::vector<Bytes> best(sets, kWholeSize);
  std::vector<Bytes> extent(sets, kWholeSize);
  best[0] = 0;
  for (std::uint32_t set = 1; set < sets; ++set) {
    extent[set] = pages.extent(set);
    // The page that holds the first version of the set may be any subset with it.
    const std::uint32_t first = set & (~set + 1);
    for (std::uint32_t page = set; page != 0; page = (page - 1) & set) {
      if ((page & first) == 0 || extent[page] == kWholeSize) continue;
      const Bytes rest = best[set ^ page];
      if (rest != kWholeSize) best[set] = std::min(best[set], extent[page] + rest);
    }
  }
  return best[sets - 1];
}

Plan plan_at(const Problem& problem, std::vector<Place> places, std::vector<TaskId> order) {
  Plan plan;
  plan.places = std::move(places);
  plan.order = std::move(order);
  plan.levels = levels(problem);
  for (const Page& page : problem.pages) plan.pages.push_back({page.bytes, page.pool, false});
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Place& place = plan.places[v];
    if (!place.page.valid() || moments(problem, plan.order, v).empty()) continue;
    if (place.page.index() >= plan.pages.size()) plan.pages.resize(place.page.index() + 1);
    PlannedPage& page = plan.pages[place.page.index()];
    if (place.page.index() >= problem.pages.size() && !page.used) {
      page.pool = problem.versions[v].pool;
    }
    page.bytes = std::max(page.bytes, place.offset + room(problem, v));
    page.used = true;
  }
  Statistics& statistics = plan.statistics;
  statistics.lower_bound = max_live(problem, plan.order);
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    if (!plan.pages[p].used) continue;
    ++statistics.pages;
    statistics.peak += plan.pages[p].bytes;
    const Bytes before = p < problem.pages.size() ? problem.pages[p].bytes : 0;
    if (plan.pages[p].bytes > before) {
      statistics.to_make += align_up(plan.pages[p].bytes, problem.device.page_granularity);
    }
  }
  for (const std::uint32_t level : plan.levels) {
    statistics.levels = std::max(statistics.levels, level + 1);
  }
  statistics.barriers = barriers(problem, plan.order, plan.places);
  std::vector<Place> own(problem.versions.size());
  for (std::uint32_t v = 0; v < own.size(); ++v) own[v].page = PageId(v);
  statistics.barriers_demanded = barriers(problem, plan.order, own);
  return plan;
}

}  // namespace berth::plan::brute
