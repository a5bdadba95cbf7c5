// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers.hpp"

#include "plan/pool_problem.hpp"

namespace berth::plan::detail {

std::uint32_t barriers_on(const Problem& problem, const std::vector<TaskId>& order,
                          const std::vector<std::uint32_t>& page_of, std::size_t pages) {
  struct Touched {
    std::uint32_t read = 0;     // the stretch between two barriers in which it was last read
    std::uint32_t written = 0;  // … and last written
  };
  std::vector<Touched> touched(pages);
  std::uint32_t stretch = 1;
  for (const TaskId id : order) {
    const Task& task = problem.tasks[id.index()];
    const Use* const first = problem.uses.data() + task.first_use;
    const Use* const last = first + task.use_count;
    bool barrier = false;
    for (const Use* use = first; use != last && !barrier; ++use) {
      const std::uint32_t page = page_of[use->version.index()];
      if (page == kNone || use->range.empty()) continue;
      const bool writing = (task.promoted && !use->argument) || writes(use->access);
      barrier = touched[page].written == stretch || (writing && touched[page].read == stretch);
    }
    if (barrier) ++stretch;
    for (const Use* use = first; use != last; ++use) {
      const std::uint32_t page = page_of[use->version.index()];
      if (page == kNone || use->range.empty()) continue;
      const bool writing = (task.promoted && !use->argument) || writes(use->access);
      (writing ? touched[page].written : touched[page].read) = stretch;
    }
  }
  return stretch - 1;
}

std::uint32_t barriers_demanded(const Problem& problem, const std::vector<TaskId>& order) {
  std::vector<std::uint32_t> own(problem.versions.size(), kNone);
  for (std::uint32_t v = 0; v < own.size(); ++v) {
    if (problem.versions[v].bytes != 0) own[v] = v;
  }
  return barriers_on(problem, order, own, own.size());
}

}  // namespace berth::plan::detail
