// SPDX-License-Identifier: Apache-2.0
//
// Positions, lives and hazards as the checker sees them. See check_view.hpp.
#include "plan/check_view.hpp"

#include <algorithm>
#include <bit>

#include "berth/error.hpp"

namespace berth::plan::checker {

std::span<const Use> uses_of(const Problem& problem, std::size_t task) {
  const Task& t = problem.tasks[task];
  return {problem.uses.data() + t.first_use, t.use_count};
}

void require_indices(const Problem& problem) {
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const Task& task = problem.tasks[t];
    if (std::uint64_t{task.first_use} + task.use_count > problem.uses.size()) {
      throw Error(ErrorCode::invalid_argument,
                  "Task " + std::to_string(t) + " names uses up to " +
                      std::to_string(std::uint64_t{task.first_use} + task.use_count) +
                      ", but the problem has " + std::to_string(problem.uses.size()) +
                      " uses, while checking a plan.");
    }
    for (const Use& use : uses_of(problem, t)) {
      if (use.version.index() >= problem.versions.size()) {
        throw Error(ErrorCode::invalid_argument, "Task " + std::to_string(t) + " uses version " +
                                                     std::to_string(use.version.index()) +
                                                     ", but the problem has " +
                                                     std::to_string(problem.versions.size()) +
                                                     " versions, while checking a plan.");
      }
    }
  }
}

std::vector<std::uint32_t> positions_in(const Problem& problem, const std::vector<TaskId>& order) {
  constexpr std::uint32_t kUnseen = TaskId::kNone;
  std::vector<std::uint32_t> positions(problem.tasks.size(), kUnseen);
  if (order.size() != positions.size()) return {};
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    const std::size_t task = order[position].index();
    if (task >= positions.size() || positions[task] != kUnseen) return {};
    positions[task] = position;
  }
  return positions;
}

std::vector<Life> lives_in(const Problem& problem, const std::vector<std::uint32_t>& positions) {
  std::vector<Life> lives(problem.versions.size());
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const std::uint32_t tick = tick_of(positions[t]);
    for (const Use& use : uses_of(problem, t)) {
      Life& life = lives[use.version.index()];
      if (life.empty()) {
        life = {tick, tick + 1};
      } else {
        life = {std::min(life.begin, tick), std::max(life.end, tick + 1)};
      }
    }
  }
  const auto after_last = static_cast<std::uint32_t>(problem.tasks.size() + 1);
  for (std::size_t v = 0; v < lives.size(); ++v) {
    if (lives[v].empty()) continue;
    if (problem.versions[v].incoming) lives[v].begin = 0;
    if (problem.versions[v].outlives) lives[v].end = after_last + 1;
  }
  return lives;
}

RangeMaxima::RangeMaxima(std::vector<Bytes> cuts) : cuts_(std::move(cuts)) {
  std::ranges::sort(cuts_);
  cuts_.erase(std::ranges::unique(cuts_).begin(), cuts_.end());
  leaves_ = std::bit_ceil(std::max<std::size_t>(cuts_.size(), 1));
  below_.assign(2 * leaves_, kNothing);
  whole_.assign(2 * leaves_, kNothing);
}

std::size_t RangeMaxima::leaf_at(Bytes offset) const {
  const auto found = std::ranges::lower_bound(cuts_, offset);
  return static_cast<std::size_t>(found - cuts_.begin());
}

void RangeMaxima::refresh_above(std::size_t node) {
  for (node /= 2; node >= 1; node /= 2) {
    below_[node] = std::max({below_[2 * node], below_[2 * node + 1], whole_[node]});
  }
}

std::int64_t RangeMaxima::whole_above(std::size_t node) const {
  std::int64_t most = kNothing;
  for (; node >= 1; node /= 2) most = std::max(most, whole_[node]);
  return most;
}

void RangeMaxima::raise(Range range, std::int64_t value) {
  const std::size_t first = leaf_at(range.offset) + leaves_;
  const std::size_t last = leaf_at(range.end()) + leaves_;
  for (std::size_t l = first, r = last; l < r; l /= 2, r /= 2) {
    const auto raise_node = [&](std::size_t node) {
      whole_[node] = std::max(whole_[node], value);
      below_[node] = std::max(below_[node], value);
    };
    if (l % 2 == 1) raise_node(l++);
    if (r % 2 == 1) raise_node(--r);
  }
  refresh_above(first);
  refresh_above(last - 1);
}

std::int64_t RangeMaxima::most(Range range) const {
  const std::size_t first = leaf_at(range.offset) + leaves_;
  const std::size_t last = leaf_at(range.end()) + leaves_;
  // What was raised as a whole above a covered node lies above one of the two border leaves.
  std::int64_t most = std::max(whole_above(first), whole_above(last - 1));
  for (std::size_t l = first, r = last; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) most = std::max(most, below_[l++]);
    if (r % 2 == 1) most = std::max(most, below_[--r]);
  }
  return most;
}

HazardWalk::HazardWalk(const Problem& problem)
    : problem_(problem), touched_(problem.versions.size()) {
  std::vector<Range> first_range(problem.versions.size());
  std::vector<std::vector<Bytes>> cuts;
  for (const bool gather : {false, true}) {  // first who is cut, then where
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      for (const Use& use : uses_of(problem, t)) {
        const std::size_t v = use.version.index();
        if (use.range.empty()) continue;
        if (first_range[v].empty()) first_range[v] = use.range;
        std::uint32_t& cut = touched_[v].cut;
        if (!gather && cut == 0 && use.range != first_range[v]) {
          cuts.emplace_back();
          cut = static_cast<std::uint32_t>(cuts.size());
        } else if (gather && cut != 0) {
          cuts[cut - 1].push_back(use.range.offset);
          cuts[cut - 1].push_back(use.range.end());
        }
      }
    }
  }
  cut_.reserve(cuts.size());
  for (std::vector<Bytes>& at : cuts) {
    RangeMaxima maxima(std::move(at));
    cut_.push_back({maxima, maxima});
  }
}

std::int64_t HazardWalk::latest_before(std::size_t task) const {
  std::int64_t latest = RangeMaxima::kNothing;
  for (const Use& use : uses_of(problem_, task)) {
    if (use.range.empty()) continue;
    const Touched& touched = touched_[use.version.index()];
    const Cut* cut = touched.cut == 0 ? nullptr : &cut_[touched.cut - 1];
    latest = std::max(latest, cut != nullptr ? cut->written.most(use.range) : touched.written);
    if (!writes(use.access)) continue;
    latest = std::max(latest, cut != nullptr ? cut->read.most(use.range) : touched.read);
  }
  return latest;
}

void HazardWalk::record(std::size_t task, std::int64_t number) {
  for (const Use& use : uses_of(problem_, task)) {
    if (use.range.empty()) continue;
    Touched& touched = touched_[use.version.index()];
    std::int64_t& all = writes(use.access) ? touched.written : touched.read;
    all = std::max(all, number);
    if (touched.cut == 0) continue;
    Cut& cut = cut_[touched.cut - 1];
    (writes(use.access) ? cut.written : cut.read).raise(use.range, number);
  }
}

std::vector<std::uint32_t> data_levels(const Problem& problem) {
  std::vector<std::uint32_t> levels(problem.tasks.size());
  HazardWalk walk(problem);
  for (std::size_t t = 0; t < levels.size(); ++t) {
    const std::int64_t level = walk.latest_before(t) + 1;
    levels[t] = static_cast<std::uint32_t>(level);
    walk.record(t, level);
  }
  return levels;
}

std::string task_text(std::size_t task) { return "task " + std::to_string(task); }

std::string version_text(const Problem& problem, std::size_t version) {
  std::string text = "version " + std::to_string(version);
  const TensorId tensor = problem.versions[version].tensor;
  if (tensor.valid()) text += " (tensor " + std::to_string(tensor.value) + ")";
  return text;
}

std::string range_text(Range range) {
  return "[" + std::to_string(range.offset) + ", " + std::to_string(range.end()) + ")";
}

}  // namespace berth::plan::checker
