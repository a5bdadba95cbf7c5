// SPDX-License-Identifier: Apache-2.0
#include "plan/conflict.hpp"

#include "plan/hazard.hpp"
#include "plan/in_place.hpp"

namespace berth::plan::detail {

ClashFinder::ClashFinder(const Problem& problem)
    : problem_(problem), source_(problem.versions.size(), kNone) {
  if (problem.in_place.empty()) return;
  Window window;
  window.order = program_order(problem.tasks.size());
  for (const TaskId task : window.order) window.position.push_back(task.value);
  window.lives = lives_of(problem, window.order);
  for (const Version& version : problem.versions) window.alignment.push_back(version.alignment);
  source_ = take_pairs(problem, window, InPlace::leave);
}

bool ClashFinder::one_page(const Use& a, const Use& b) const {
  if (a.range.empty() || b.range.empty()) return false;
  if (a.version == b.version) return true;
  const Version& va = problem_.versions[a.version.index()];
  const Version& vb = problem_.versions[b.version.index()];
  return va.fixed && vb.fixed && va.fixed->page == vb.fixed->page;
}

bool ClashFinder::meet(const Use& a, const Use& b) const {
  const Bytes alignment = problem_.device.binding_alignment;
  const Version& va = problem_.versions[a.version.index()];
  const Version& vb = problem_.versions[b.version.index()];
  const Bytes base_a = va.fixed ? va.fixed->offset : 0;
  const Bytes base_b = vb.fixed ? vb.fixed->offset : 0;
  Range x{base_a + a.range.offset, a.range.bytes};
  Range y{base_b + b.range.offset, b.range.bytes};
  if (y.offset < x.offset) std::swap(x, y);
  if (!va.fixed && va.alignment % alignment != 0) {  // the version's offset is not known yet
    return y.offset < x.end() || y.offset - x.end() < alignment - 1;
  }
  return align_down(y.offset, alignment) < x.end();
}

bool ClashFinder::misaligned(const Use& use) const {
  if (use.any_offset || use.range.empty()) return false;
  const Version& version = problem_.versions[use.version.index()];
  const Bytes base = version.fixed ? version.fixed->offset : 0;
  return (base + use.range.offset) % problem_.device.binding_alignment != 0;
}

bool ClashFinder::in_place(std::uint32_t task, const Use& a, const Use& b) const {
  const auto takes = [&](const Use& out, const Use& in) {
    return source_[out.version.index()] == in.version.value && writes(out.access) &&
           in.access == Access::read;
  };
  return !problem_.tasks[task].promoted && (takes(a, b) || takes(b, a));
}

void ClashFinder::find(std::uint32_t t, std::vector<Clash>& clashes) const {
  const Task& task = problem_.tasks[t];
  const std::uint32_t end = task.first_use + task.use_count;
  for (std::uint32_t i = task.first_use; i < end; ++i) {
    if (misaligned(problem_.uses[i])) clashes.push_back({t, i, i});
  }
  if (!problem_.device.exclusion) return;
  for (std::uint32_t j = task.first_use + 1; j < end; ++j) {
    for (std::uint32_t i = task.first_use; i < j; ++i) {
      const Use& a = problem_.uses[i];
      const Use& b = problem_.uses[j];
      const bool writes_a = (task.promoted && !a.argument) || writes(a.access);
      const bool writes_b = (task.promoted && !b.argument) || writes(b.access);
      if ((!writes_a && !writes_b) || !one_page(a, b) || in_place(t, a, b)) continue;
      if (writes_a != writes_b || meet(a, b)) clashes.push_back({t, i, j});
    }
  }
}

bool ClashFinder::promotable(std::uint32_t t) const {
  const Task& task = problem_.tasks[t];
  const std::uint32_t end = task.first_use + task.use_count;
  for (std::uint32_t i = task.first_use; i < end; ++i) {
    if (misaligned(problem_.uses[i])) return false;
  }
  for (std::uint32_t j = task.first_use + 1; j < end; ++j) {
    for (std::uint32_t i = task.first_use; i < j; ++i) {
      const Use& a = problem_.uses[i];
      const Use& b = problem_.uses[j];
      if (!one_page(a, b) || (a.argument && b.argument)) continue;
      if (a.argument || b.argument || meet(a, b)) return false;
    }
  }
  return true;
}

}  // namespace berth::plan::detail
