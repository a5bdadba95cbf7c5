// SPDX-License-Identifier: Apache-2.0
#include "client/versions.hpp"

namespace berth::client {

namespace {

class Builder {
 public:
  Builder(const Window& window, const std::vector<TensorFacts>& facts, Bytes alignment)
      : window_(window), facts_(facts), alignment_(alignment) {
    const std::size_t tensors = window.tensors().size();
    out_.last_version.resize(tensors);
    out_.incoming_version.resize(tensors);
    out_.problem.tasks.reserve(window.tasks().size());
    out_.problem.uses.reserve(window.uses().size());
  }

  WindowProblem build() {
    for (const RecordedTask& task : window_.tasks()) add(task);
    mark_outliving();
    return std::move(out_);
  }

 private:
  void add(const RecordedTask& recorded) {
    plan::Task task;
    task.kind = recorded.kind;
    task.estimated_ns = recorded.estimated_ns;
    task.first_use = static_cast<std::uint32_t>(out_.problem.uses.size());
    // Reads first: a task that reads a tensor and overwrites all of it reads the old version.
    const auto uses = window_.uses_of(recorded);
    const std::size_t first = out_.problem.uses.size();
    out_.problem.uses.resize(first + uses.size());
    std::size_t next = first;
    for (const RecordedUse& use : uses) {
      if (use.range.empty()) continue;
      if (!starts_version(use))
        out_.problem.uses[next] = {current(use.tensor), use.access, use.range};
      ++next;
    }
    next = first;
    for (const RecordedUse& use : uses) {
      if (use.range.empty()) continue;
      if (starts_version(use))
        out_.problem.uses[next] = {renamed(use.tensor), use.access, use.range};
      ++next;
    }
    out_.problem.uses.resize(next);
    task.use_count = static_cast<std::uint32_t>(next - first);
    out_.problem.tasks.push_back(task);
  }

  [[nodiscard]] bool starts_version(const RecordedUse& use) const {
    return use.access == Access::write &&
           use.range == Range{0, window_.tensors()[use.tensor]->bytes};
  }

  /// The version that holds the tensor's contents now; the first one if there is none yet.
  plan::VersionId current(std::uint32_t tensor) {
    plan::VersionId& last = out_.last_version[tensor];
    if (last.valid()) return last;
    last = start(tensor);
    if (facts_[tensor].place) {
      plan::Version& version = out_.problem.versions[last.index()];
      version.fixed = facts_[tensor].place;
      version.movable = facts_[tensor].movable;
      version.incoming = true;
      version.pool = kPersistentPool;
      out_.incoming_version[tensor] = last;
    }
    return last;
  }

  plan::VersionId renamed(std::uint32_t tensor) {
    if (out_.last_version[tensor].valid() || facts_[tensor].place) ++out_.renames;
    return out_.last_version[tensor] = start(tensor);
  }

  plan::VersionId start(std::uint32_t tensor) {
    plan::Version version;
    version.tensor = plan::TensorId(tensor);
    version.bytes = window_.tensors()[tensor]->capacity;
    version.alignment = alignment_;
    version.pool = kTransientPool;
    out_.problem.versions.push_back(version);
    out_.tensor_of.push_back(tensor);
    return plan::VersionId(static_cast<std::uint32_t>(out_.problem.versions.size() - 1));
  }

  void mark_outliving() {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].held || !out_.last_version[i].valid()) continue;
      plan::Version& version = out_.problem.versions[out_.last_version[i].index()];
      version.outlives = true;
      version.pool = kPersistentPool;
    }
  }

  const Window& window_;
  const std::vector<TensorFacts>& facts_;
  Bytes alignment_;
  WindowProblem out_;
};

}  // namespace

WindowProblem make_problem(const Window& window, const std::vector<TensorFacts>& facts,
                           Bytes alignment) {
  return Builder(window, facts, alignment).build();
}

}  // namespace berth::client
