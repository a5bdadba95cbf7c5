// SPDX-License-Identifier: Apache-2.0
#include "plan/hazard.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace berth::plan::detail {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFF;

/// What happened last to some bytes: who wrote them, and who has read them since.
struct History {
  std::uint32_t writer = kNobody;
  std::vector<std::uint32_t> readers;

  void visit(std::uint32_t task, bool writing, std::vector<std::uint32_t>& predecessors) {
    if (writer != kNobody && writer != task) predecessors.push_back(writer);
    if (writing) {
      for (const std::uint32_t reader : readers) {
        if (reader != task) predecessors.push_back(reader);
      }
      readers.clear();
      writer = task;
    } else if (readers.empty() || readers.back() != task) {
      readers.push_back(task);
    }
  }
};

/// Histories of the parts of one object, for uses that are not whole. Segments cover all bytes that
/// were ever used; they are split where a use starts or ends.
class Segments {
 public:
  void visit(std::uint32_t task, Range range, bool writing,
             std::vector<std::uint32_t>& predecessors) {
    if (range.empty()) return;
    split(range.offset);
    split(range.end());
    Bytes at = range.offset;
    auto it = parts_.lower_bound(at);
    while (at < range.end()) {
      if (it == parts_.end() || it->first > at) {  // never used before: a new segment fills the gap
        const Bytes end = it == parts_.end() ? range.end() : std::min(it->first, range.end());
        it = parts_.emplace_hint(it, at, Part{end, {}});
      }
      it->second.history.visit(task, writing, predecessors);
      at = it->second.end;
      ++it;
    }
    if (writing) merge(range, task);
  }

 private:
  struct Part {
    Bytes end;
    History history;
  };

  void split(Bytes at) {
    auto it = parts_.upper_bound(at);
    if (it == parts_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Part rest{it->second.end, it->second.history};
    it->second.end = at;
    parts_.emplace_hint(std::next(it), at, std::move(rest));
  }

  /// After a write all parts of the range have the same history.
  void merge(Range range, std::uint32_t task) {
    auto first = parts_.lower_bound(range.offset);
    parts_.erase(std::next(first), parts_.lower_bound(range.end()));
    first->second = Part{range.end(), History{task, {}}};
  }

  std::map<Bytes, Part> parts_;
};

/// Which bytes a version stands for: its own, or a stretch of a page that fixed versions share.
struct Object {
  std::uint32_t index;
  Bytes base;
};

std::vector<Object> objects_of(const Problem& problem, Aliases aliases) {
  std::vector<Object> objects(problem.versions.size());
  for (std::uint32_t v = 0; v < objects.size(); ++v) objects[v] = {v, 0};
  if (aliases == Aliases::ignore) return objects;
  std::vector<std::uint32_t> fixed;
  for (std::uint32_t v = 0; v < objects.size(); ++v) {
    if (problem.versions[v].fixed && problem.versions[v].bytes != 0) fixed.push_back(v);
  }
  const auto place = [&](std::uint32_t v) {
    return std::pair(problem.versions[v].fixed->page, problem.versions[v].fixed->offset);
  };
  std::sort(fixed.begin(), fixed.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(place(a), a) < std::pair(place(b), b);
  });
  Bytes end = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    const auto [page, offset] = place(fixed[i]);
    const bool meets = i > 0 && place(fixed[i - 1]).first == page && offset < end;
    end = std::max(meets ? end : 0, offset + problem.versions[fixed[i]].bytes);
    if (!meets) continue;
    const Object& leader = objects[fixed[i - 1]];
    objects[fixed[i]] = {leader.index, leader.base + offset - place(fixed[i - 1]).second};
  }
  return objects;
}

}  // namespace

bool has_aliases(const Problem& problem) {
  const std::vector<Object> objects = objects_of(problem, Aliases::respect);
  for (std::size_t v = 0; v < objects.size(); ++v) {
    if (objects[v].index != v) return true;
  }
  return false;
}

Hazards::Hazards(const Problem& problem, Aliases aliases) {
  const std::vector<Object> objects = objects_of(problem, aliases);
  const std::size_t count = problem.versions.size();
  // Whole uses of a version of its own need no segments.
  std::vector<std::uint8_t> in_parts(count, 0);
  for (std::size_t v = 0; v < count; ++v) {
    if (objects[v].index != v) in_parts[objects[v].index] = 1;
  }
  for (const Use& use : problem.uses) {
    if (use.range.bytes != problem.versions[use.version.index()].bytes) {
      in_parts[objects[use.version.index()].index] = 1;
    }
  }
  std::vector<History> whole(count);
  std::map<std::uint32_t, Segments> parts;
  std::vector<std::uint32_t> predecessors;
  first_.reserve(problem.tasks.size() + 1);
  first_.push_back(0);
  to_.reserve(problem.uses.size());
  for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) {
    const Task& task = problem.tasks[t];
    predecessors.clear();
    for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
      const Use& use = problem.uses[u];
      const Object object = objects[use.version.index()];
      if (use.range.empty()) continue;
      if (in_parts[object.index] == 0) {
        whole[object.index].visit(t, writes(use.access), predecessors);
      } else {
        parts[object.index].visit(t, {object.base + use.range.offset, use.range.bytes},
                                  writes(use.access), predecessors);
      }
    }
    std::sort(predecessors.begin(), predecessors.end());
    to_.insert(to_.end(), predecessors.begin(),
               std::unique(predecessors.begin(), predecessors.end()));
    first_.push_back(static_cast<std::uint32_t>(to_.size()));
  }
}

std::vector<std::uint32_t> data_levels(const Hazards& hazards) {
  std::vector<std::uint32_t> levels(hazards.tasks(), 0);
  for (std::size_t t = 0; t < levels.size(); ++t) {
    for (const std::uint32_t p : hazards.before(t)) levels[t] = std::max(levels[t], levels[p] + 1);
  }
  return levels;
}

std::vector<TaskId> program_order(std::size_t tasks) {
  std::vector<TaskId> order(tasks);
  for (std::size_t t = 0; t < tasks; ++t) order[t] = TaskId{static_cast<std::uint32_t>(t)};
  return order;
}

std::vector<TaskId> level_order(const std::vector<std::uint32_t>& levels) {
  std::uint32_t highest = 0;
  for (const std::uint32_t level : levels) highest = std::max(highest, level);
  std::vector<std::uint32_t> next(std::size_t{highest} + 2, 0);
  for (const std::uint32_t level : levels) ++next[level + 1];
  for (std::size_t l = 1; l < next.size(); ++l) next[l] += next[l - 1];
  std::vector<TaskId> order(levels.size());
  for (std::size_t t = 0; t < levels.size(); ++t) {
    order[next[levels[t]]++] = TaskId{static_cast<std::uint32_t>(t)};
  }
  return order;
}

}  // namespace berth::plan::detail
