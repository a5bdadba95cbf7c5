// SPDX-License-Identifier: Apache-2.0
//
// Files' windows become the planner's problems. See window.hpp.
#include "trace/window.hpp"

#include <algorithm>

namespace berth::trace {
namespace {

plan::Version version_of(std::size_t index, Bytes bytes, Bytes alignment) {
  plan::Version version;
  version.tensor = plan::TensorId(static_cast<std::uint32_t>(index));
  version.bytes = align_up(bytes, alignment);
  version.alignment = alignment;
  return version;
}

void add_use(plan::Problem& problem, std::uint32_t version, Access access) {
  problem.uses.push_back({plan::VersionId(version), access, {0, problem.versions[version].bytes}});
}

void open_task(plan::Problem& problem) {
  plan::Task task;
  task.first_use = static_cast<std::uint32_t>(problem.uses.size());
  problem.tasks.push_back(task);
}

void close_task(plan::Problem& problem) {
  plan::Task& task = problem.tasks.back();
  task.use_count = static_cast<std::uint32_t>(problem.uses.size()) - task.first_use;
}

}  // namespace

plan::Problem to_problem(const Window& window) {
  plan::Problem problem;
  problem.versions.reserve(window.tensors.size());
  for (const Tensor& tensor : window.tensors) {
    problem.versions.push_back(version_of(problem.versions.size(), tensor.bytes, window.alignment));
  }
  problem.device.binding_alignment = window.alignment;
  // Per tensor: the number of the last task that writes it, counted from 1.
  std::vector<std::size_t> written_by(window.tensors.size(), 0);
  std::vector<std::size_t> updated_by(window.tensors.size(), 0);
  for (std::size_t t = 0; t < window.tasks.size(); ++t) {
    const Task& task = window.tasks[t];
    open_task(problem);
    for (const std::uint32_t tensor : task.writes) written_by[tensor] = t + 1;
    for (const std::uint32_t tensor : task.reads) {
      if (written_by[tensor] == t + 1) {
        updated_by[tensor] = t + 1;
      } else {
        add_use(problem, tensor, Access::read);
      }
    }
    for (const std::uint32_t tensor : task.writes) {
      add_use(problem, tensor, updated_by[tensor] == t + 1 ? Access::read_write : Access::write);
    }
    close_task(problem);
  }
  return problem;
}

plan::Problem to_problem(const Lifetimes& lifetimes) {
  const std::vector<Buffer>& buffers = lifetimes.buffers;
  plan::Problem problem;
  problem.device.exclusion = false;
  std::vector<std::int64_t> births;
  births.reserve(buffers.size());
  for (const Buffer& buffer : buffers) {
    problem.versions.push_back(version_of(problem.versions.size(), buffer.bytes, 1));
    births.push_back(buffer.lower);
  }
  std::ranges::sort(births);
  births.erase(std::ranges::unique(births).begin(), births.end());
  const auto births_before = [&](std::int64_t moment) {
    return static_cast<std::size_t>(std::ranges::lower_bound(births, moment) - births.begin());
  };
  std::vector<std::vector<std::uint32_t>> born(births.size());
  std::vector<std::vector<std::uint32_t>> last_seen(births.size());
  for (std::uint32_t b = 0; b < buffers.size(); ++b) {
    const std::size_t first = births_before(buffers[b].lower);
    const std::size_t last = births_before(buffers[b].upper) - 1;
    born[first].push_back(b);
    if (last != first) last_seen[last].push_back(b);
  }
  for (std::size_t moment = 0; moment < births.size(); ++moment) {
    open_task(problem);
    for (const std::uint32_t b : last_seen[moment]) add_use(problem, b, Access::read);
    for (const std::uint32_t b : born[moment]) add_use(problem, b, Access::write);
    close_task(problem);
  }
  return problem;
}

}  // namespace berth::trace
