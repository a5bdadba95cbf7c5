// SPDX-License-Identifier: Apache-2.0
//
// assess(): the figures of a plan that place() did not make.
#include <algorithm>

#include "berth/plan/planner.hpp"
#include "plan/barriers.hpp"
#include "plan/hazard.hpp"

namespace berth::plan {

namespace {

std::vector<bool> used_versions(const Problem& problem) {
  std::vector<bool> used(problem.versions.size(), false);
  for (const Use& use : problem.uses) used[use.version.index()] = true;
  for (std::size_t v = 0; v < used.size(); ++v) {
    used[v] = used[v] || problem.versions[v].incoming || problem.versions[v].outlives;
  }
  return used;
}

void measure_pages(const Problem& problem, Plan& plan) {
  for (PlannedPage& page : plan.pages) {
    page.bytes = 0;
    page.used = false;
  }
  const std::vector<bool> used = used_versions(problem);
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Place& place = plan.places[v];
    if (!used[v] || problem.versions[v].bytes == 0 || !place.page.valid()) continue;
    PlannedPage& page = plan.pages[place.page.index()];
    page.used = true;
    page.bytes = std::max(page.bytes, place.offset + problem.versions[v].bytes);
  }
}

void measure_bytes(const Problem& problem, Plan& plan) {
  Statistics& s = plan.statistics;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    if (!page.used) continue;
    s.peak += page.bytes;
    ++s.pages;
    const Bytes rounded = align_up(page.bytes, std::max<Bytes>(problem.device.page_granularity, 1));
    if (p >= problem.pages.size()) s.to_make += rounded;
  }
  s.lower_bound = lower_bound(problem, plan.order);
}

}  // namespace

void assess(const Problem& problem, Plan& plan) {
  plan.statistics = {};
  measure_pages(problem, plan);
  measure_bytes(problem, plan);
  plan.statistics.in_place = static_cast<std::uint32_t>(plan.in_place.size());
  const detail::Hazards hazards(problem, detail::Aliases::ignore);
  plan.levels = detail::data_levels(hazards);
  Statistics& s = plan.statistics;
  s.hazards = static_cast<std::uint32_t>(hazards.count());
  for (const std::uint32_t level : plan.levels) s.levels = std::max(s.levels, level + 1);
  std::vector<std::uint32_t> page_of(problem.versions.size(), ~0U);
  for (std::size_t v = 0; v < page_of.size(); ++v) {
    if (plan.places[v].page.valid()) page_of[v] = plan.places[v].page.value;
  }
  s.barriers = detail::barriers_on(problem, plan.order, page_of, plan.pages.size());
  s.barriers_demanded = detail::barriers_demanded(problem, plan.order);
}

}  // namespace berth::plan
