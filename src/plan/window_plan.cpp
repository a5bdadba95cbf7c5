// SPDX-License-Identifier: Apache-2.0
//
// From the pools' answers back to a plan: a place for each version and the extent of each page.
#include <algorithm>

#include "plan/window.hpp"

namespace berth::plan::detail {
namespace {

/// Where a version ends on its page: with its padding, unless that hangs over the page's end.
Bytes extent_of(const Problem& problem, const Place& place, const Version& version) {
  const Bytes end = place.offset + version.bytes;
  const Bytes padded = place.offset + align_up(version.bytes, version.alignment);
  const bool exists = place.page.index() < problem.pages.size();
  Bytes most = problem.device.max_page_bytes;
  if (exists) {
    const Bytes bytes = problem.pages[place.page.index()].bytes;
    most = end <= bytes ? bytes : std::max(most, bytes);
  }
  return std::max(end, std::min(padded, most));
}

}  // namespace

Plan make_plan(const Problem& problem, const Window& window, const std::vector<PoolPlan>& answers) {
  Plan plan;
  plan.order = window.order;
  plan.in_place = window.taken;
  plan.places.resize(problem.versions.size());
  plan.pages.resize(problem.pages.size());
  for (std::size_t p = 0; p < problem.pages.size(); ++p) plan.pages[p].pool = problem.pages[p].pool;
  // Number the new pages of all pools in a row.
  std::vector<std::vector<PageId>> number(answers.size());
  for (std::size_t k = 0; k < answers.size(); ++k) {
    const PoolProblem& pool = window.pools[k];
    std::vector<std::uint8_t> used(answers[k].extent.size(), 0);
    for (const std::uint32_t page : answers[k].page) used[page] = 1;
    for (std::size_t p = 0; p < used.size(); ++p) {
      if (p < pool.bins.size()) {
        number[k].push_back(pool.bins[p].page);
      } else if (used[p] == 0) {
        number[k].emplace_back();
      } else {
        number[k].emplace_back(static_cast<std::uint32_t>(plan.pages.size()));
        plan.pages.push_back({0, pool.pool, true});
      }
    }
  }
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (window.lives[v].end == 0 || problem.versions[v].bytes == 0) continue;
    if (window.given[v].page.valid()) {
      plan.places[v] = window.given[v];
    } else {
      const PoolPlan& answer = answers[window.pool_of[v]];
      const std::uint32_t item = window.item_of[v];
      plan.places[v] = {number[window.pool_of[v]][answer.page[item]], answer.offset[item]};
    }
    PlannedPage& page = plan.pages[plan.places[v].page.index()];
    page.used = true;
    page.bytes = std::max(page.bytes, extent_of(problem, plan.places[v], problem.versions[v]));
  }
  return plan;
}

}  // namespace berth::plan::detail
