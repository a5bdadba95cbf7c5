// SPDX-License-Identifier: Apache-2.0
#include "plan/in_place.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace berth::plan::detail {
namespace {

std::span<const Use> uses_of(const Problem& problem, const Task& task) {
  return {problem.uses.data() + task.first_use, task.use_count};
}

const Use* only_use(const Problem& problem, const Task& task, VersionId version) {
  const Use* found = nullptr;
  for (const Use& use : uses_of(problem, task)) {
    if (use.version != version) continue;
    if (found != nullptr) return nullptr;
    found = &use;
  }
  return found;
}

bool allowed(const Problem& problem, const Window& window, const InPlacePair& pair) {
  const Version& in = problem.versions[pair.input.index()];
  const Version& out = problem.versions[pair.output.index()];
  const Task& task = problem.tasks[pair.task.index()];
  if (pair.input == pair.output || in.bytes != out.bytes || in.bytes == 0 || in.pool != out.pool ||
      task.promoted || in.outlives || out.incoming) {
    return false;
  }
  if (out.fixed && in.fixed != out.fixed) return false;
  if (in.fixed && !out.fixed && in.fixed->offset % out.alignment != 0) return false;
  const std::uint32_t at = window.position[pair.task.index()];
  if (window.lives[pair.input.index()].end != at + 1 ||
      window.lives[pair.output.index()].start != at) {
    return false;
  }
  const Use* read = only_use(problem, task, pair.input);
  const Use* write = only_use(problem, task, pair.output);
  return read != nullptr && write != nullptr && read->access == Access::read &&
         write->access == Access::write && read->range == Range{0, in.bytes} &&
         write->range == Range{0, out.bytes};
}

/// A version in `task` that was given a place by its input, and now breaks the rule with another
/// version that has a place; kNone if there is none.
std::uint32_t misfit(const Problem& problem, const Window& window,
                     const std::vector<std::uint32_t>& source, const Task& task) {
  for (const Use& a : uses_of(problem, task)) {
    const std::uint32_t v = a.version.value;
    const Place& place = window.given[v];
    if (!place.page.valid() || problem.versions[v].fixed) continue;
    for (const Use& b : uses_of(problem, task)) {
      const std::uint32_t w = b.version.value;
      if (w == v || window.given[w].page != place.page || source[v] == w || source[w] == v)
        continue;
      // Two written versions may share a page, but rounding is left out of it: keep them apart.
      if (task.promoted || writes(a.access) || writes(b.access)) return v;
    }
  }
  return kNone;
}

/// Outputs of fixed inputs take their place only where that breaks no rule.
void drop_misfits(const Problem& problem, Window& window, std::vector<std::uint32_t>& source) {
  std::vector<std::uint32_t> heir(source.size(), kNone);
  for (std::uint32_t v = 0; v < source.size(); ++v) {
    if (source[v] != kNone) heir[source[v]] = v;
  }
  bool again = true;
  while (again) {
    again = false;
    for (const Task& task : problem.tasks) {
      std::uint32_t v = misfit(problem, window, source, task);
      if (v == kNone) continue;
      again = true;
      heir[source[v]] = kNone;
      source[v] = kNone;
      for (; v != kNone; v = heir[v]) {  // the links behind it lose their place as well
        if (problem.versions[v].fixed) {
          source[v] = kNone;
          break;
        }
        window.given[v] = {};
      }
    }
  }
}

}  // namespace

std::vector<std::uint32_t> take_pairs(const Problem& problem, Window& window, InPlace in_place) {
  const std::size_t count = problem.versions.size();
  std::vector<std::uint32_t> source(count, kNone);
  window.given.assign(count, {});
  for (std::size_t v = 0; v < count; ++v) {
    if (problem.versions[v].fixed) window.given[v] = *problem.versions[v].fixed;
  }
  if (problem.in_place.empty()) return source;

  // Rank by where the input is used, not by ids or by the list's order.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> candidates;
  for (std::uint32_t i = 0; i < problem.in_place.size(); ++i) {
    const InPlacePair& pair = problem.in_place[i];
    if (!allowed(problem, window, pair)) continue;
    const bool both_fixed = problem.versions[pair.output.index()].fixed.has_value();
    if (in_place == InPlace::leave && !both_fixed) continue;
    const Task& task = problem.tasks[pair.task.index()];
    const auto at = [&](VersionId v) {
      return static_cast<std::uint64_t>(only_use(problem, task, v) - problem.uses.data());
    };
    candidates.emplace_back(std::uint64_t{window.position[pair.task.index()]} << 32, i);
    candidates.back().first += (at(pair.input) - task.first_use) * task.use_count;
    candidates.back().first += at(pair.output) - task.first_use;
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<std::uint8_t> gives(count, 0);
  std::vector<std::uint32_t> pair_of(count, kNone);
  bool inherited = false;
  for (const auto& [rank, i] : candidates) {
    const InPlacePair& pair = problem.in_place[i];
    const std::size_t in = pair.input.index();
    const std::size_t out = pair.output.index();
    if (source[out] != kNone || gives[in] != 0) continue;
    // Links of a chain come in the order of their tasks, so the input's place is known by now.
    const Place place = window.given[in];
    if (place.page.valid() && place.offset % problem.versions[out].alignment != 0) continue;
    if (problem.versions[out].fixed && place != *problem.versions[out].fixed) continue;
    source[out] = pair.input.value;
    gives[in] = 1;
    pair_of[out] = i;
    if (place.page.valid() && !problem.versions[out].fixed) {
      window.given[out] = place;
      inherited = true;
    }
  }
  if (inherited) drop_misfits(problem, window, source);
  for (std::size_t v = 0; v < count; ++v) {
    if (source[v] != kNone) window.taken.push_back(pair_of[v]);
  }
  std::sort(window.taken.begin(), window.taken.end());
  return source;
}

}  // namespace berth::plan::detail
