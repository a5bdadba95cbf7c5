// SPDX-License-Identifier: Apache-2.0
//
// Windows written as tables: sizes of versions, then one row per task. For tests of the planner.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::table {

/// One task: the versions it reads, overwrites, and updates, each as a whole.
struct Row {
  std::vector<std::uint32_t> reads{};
  std::vector<std::uint32_t> writes{};
  std::vector<std::uint32_t> updates{};
};

inline void add_task(Problem& problem, const Row& row) {
  Task task;
  task.first_use = static_cast<std::uint32_t>(problem.uses.size());
  const auto add = [&](const std::vector<std::uint32_t>& versions, Access access) {
    for (const std::uint32_t v : versions) {
      problem.uses.push_back({VersionId(v), access, {0, problem.versions[v].bytes}});
    }
  };
  add(row.reads, Access::read);
  add(row.writes, Access::write);
  add(row.updates, Access::read_write);
  task.use_count = static_cast<std::uint32_t>(problem.uses.size()) - task.first_use;
  problem.tasks.push_back(task);
}

/// A window of whole versions, one tensor each.
inline Problem window(const std::vector<Bytes>& sizes, const std::vector<Row>& rows,
                      Bytes alignment = 1) {
  Problem problem;
  for (std::uint32_t v = 0; v < sizes.size(); ++v) {
    Version version;
    version.tensor = TensorId(v);
    version.bytes = sizes[v];
    version.alignment = alignment;
    problem.versions.push_back(version);
  }
  for (const Row& row : rows) add_task(problem, row);
  return problem;
}

/// Places as {page, offset} pairs.
inline std::vector<Place> places(std::initializer_list<std::pair<std::uint32_t, Bytes>> rows) {
  std::vector<Place> result;
  for (const auto& [page, offset] : rows) result.push_back({PageId(page), offset});
  return result;
}

}  // namespace berth::plan::table
