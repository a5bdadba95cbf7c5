// SPDX-License-Identifier: Apache-2.0
//
// The checker's last rule: every figure of a plan is what the plan is. See check.hpp.
#include <algorithm>
#include <string>

#include "plan/check.hpp"

namespace berth::plan::checker {
namespace {

void expect(Findings& findings, const char* figure, Bytes stated, Bytes measured) {
  if (stated == measured) return;
  findings.add(Rule::statistics, {},
               std::string("the plan states ") + figure + " " + std::to_string(stated) +
                   ", but it is " + std::to_string(measured) + ".");
}

/// What lies on a page: the ends of its versions, with and without padding to the alignment.
struct Extent {
  Bytes end = 0;
  Bytes padded_end = 0;
  bool used = false;
};

std::vector<Extent> extents_of(const Subject& subject, const std::vector<bool>& used) {
  const auto& [problem, plan] = subject;
  std::vector<Extent> extents(plan.pages.size());
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Version& version = problem.versions[v];
    if (!used[v] || version.bytes == 0 || !subject.placed(v)) continue;
    const Place& place = plan.places[v];
    Extent& extent = extents[place.page.index()];
    extent.used = true;
    extent.end = std::max(extent.end, place.offset + version.bytes);
    extent.padded_end =
        std::max(extent.padded_end,
                 place.offset + align_up(version.bytes, std::max<Bytes>(version.alignment, 1)));
  }
  return extents;
}

/// A page is as large as what lies on it, with or without its last version's padding; an existing
/// one may be as large as it is.
void check_extents(const Subject& subject, const std::vector<Extent>& extents, Findings& findings) {
  const auto& [problem, plan] = subject;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    const bool exists = p < problem.pages.size();
    const Bytes most = std::max(extents[p].padded_end, exists ? problem.pages[p].bytes : 0);
    const bool size_wrong = page.used && page.bytes > most;
    const bool use_wrong = page.used != extents[p].used;
    if (!size_wrong && !use_wrong) continue;
    findings.add(Rule::statistics, {.page = PageId(static_cast<std::uint32_t>(p))},
                 "the plan states page " + std::to_string(p) + " as " +
                     (page.used ? "used" : "unused") + " with " + std::to_string(page.bytes) +
                     " bytes, but its versions end at " + std::to_string(extents[p].end) + ".");
  }
}

Bytes bytes_to_make(const Subject& subject) {
  const auto& [problem, plan] = subject;
  Bytes make = 0;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    const PlannedPage& page = plan.pages[p];
    if (!page.used) continue;
    const Bytes rounded = align_up(page.bytes, std::max<Bytes>(problem.device.page_granularity, 1));
    if (p >= problem.pages.size()) {
      make += rounded;
    } else if (page.bytes > problem.pages[p].bytes) {
      const bool extended = problem.device.growth == Growth::extend;
      make += extended ? rounded - problem.pages[p].bytes : rounded;
    }
  }
  return make;
}

/// What the data alone demands: every version on a page of its own.
std::uint32_t demanded_barriers(const Subject& subject) {
  const Problem& problem = subject.problem;
  std::vector<std::uint32_t> own(problem.versions.size(), PageId::kNone);
  for (std::size_t v = 0; v < own.size(); ++v) {
    if (problem.versions[v].bytes != 0) own[v] = static_cast<std::uint32_t>(v);
  }
  return barriers_of(problem, subject.plan.order, own);
}

}  // namespace

void check_statistics(const Subject& subject, const Timeline& timeline, Findings& findings) {
  const auto& [problem, plan] = subject;
  if (!timeline.known) return;
  std::vector<bool> used(problem.versions.size());
  for (std::size_t v = 0; v < used.size(); ++v) used[v] = !timeline.lives[v].empty();
  check_extents(subject, extents_of(subject, used), findings);
  Bytes peak = 0;
  std::uint32_t pages = 0;
  for (const PlannedPage& page : plan.pages) {
    if (!page.used) continue;
    peak += page.bytes;
    ++pages;
  }
  const std::vector<std::uint32_t> levels = data_levels(problem);
  const std::uint32_t level_count = levels.empty() ? 0 : *std::ranges::max_element(levels) + 1;
  const Statistics& stated = plan.statistics;
  expect(findings, "a lower bound of", stated.lower_bound, lower_bound(problem, plan.order));
  expect(findings, "a peak of", stated.peak, peak);
  expect(findings, "bytes to make of", stated.to_make, bytes_to_make(subject));
  expect(findings, "a number of pages of", stated.pages, pages);
  expect(findings, "a number of levels of", stated.levels, level_count);
  expect(findings, "a number of barriers of", stated.barriers, count_barriers(problem, plan));
  expect(findings, "a number of demanded barriers of", stated.barriers_demanded,
         demanded_barriers(subject));
  expect(findings, "a number of in-place pairs of", stated.in_place, plan.in_place.size());
}

}  // namespace berth::plan::checker
