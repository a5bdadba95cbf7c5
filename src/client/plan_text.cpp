// SPDX-License-Identifier: Apache-2.0
#include "client/plan_text.hpp"

#include "base/text.hpp"

namespace berth::client {

namespace {

std::string use_text(const plan::Use& use, const plan::Problem& problem, const plan::Plan& plan,
                     const Window& window) {
  const plan::Version& version = problem.versions[use.version.index()];
  const plan::Place& place = plan.places[use.version.index()];
  const TensorState& tensor = *window.tensors()[version.tensor.index()];
  const std::string name = tensor.label.empty() ? text('#', tensor.id) : tensor.label;
  return text(name_of(use.access), ' ', name, ".v", use.version.value, ' ', to_text(use.range),
              " on page ", place.page.value, " at ", place.offset + use.range.offset);
}

}  // namespace

std::string plan_text(const Window& window, const Placement& placement) {
  const plan::Problem& problem = placement.repaired.problem;
  const plan::Plan& plan = placement.plan;
  std::string out;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    if (!plan.pages[p].used) continue;
    out += text("page ", p, ": ", plan.pages[p].bytes, " bytes, pool ", plan.pages[p].pool.value,
                p < problem.pages.size() ? ", was there\n" : ", new\n");
  }
  for (const plan::TaskId id : plan.order) {
    const plan::Task& task = problem.tasks[id.index()];
    const plan::TaskId original = placement.repaired.original[id.index()];
    const std::string label =
        original.valid() ? window.labels()[window.tasks()[original.index()].label] : "repair copy";
    out += text("task ", id.value, " level ", plan.levels[id.index()], ' ', label,
                task.promoted ? " (promoted)" : "", '\n');
    for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
      out += text("  ", use_text(problem.uses[u], problem, plan, window), '\n');
    }
    for (const plan::Repair& repair : placement.repaired.repairs) {
      if (repair.task != id) continue;
      out += text("  repair: ", plan::name_of(repair.kind), " of v", repair.from.value, ", ",
                  repair.bytes, " bytes copied\n");
    }
  }
  return out;
}

}  // namespace berth::client
