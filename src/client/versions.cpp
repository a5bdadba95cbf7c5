// SPDX-License-Identifier: Apache-2.0
#include "client/versions.hpp"

#include <algorithm>

namespace berth::client {

namespace {

class Builder {
 public:
  Builder(const Window& window, const std::vector<TensorFacts>& facts,
          const runtime::Capabilities& device)
      : window_(window), facts_(facts), device_(device) {
    const std::size_t tensors = window.tensors().size();
    out_.last_version.resize(tensors);
    out_.incoming_version.resize(tensors);
    out_.problem.tasks.reserve(window.tasks().size());
    out_.problem.uses.reserve(window.uses().size());
    plan::Device& d = out_.problem.device;
    d.exclusion = device.exclusion;
    d.max_page_bytes = device.limits.max_page_bytes;
    d.page_granularity = device.page_granularity;
    d.binding_alignment = device.limits.offset_alignment;
    d.growth = device.growth;
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
    version_of_.assign(uses.size(), {});
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].range.empty() && !starts_version(uses[i])) {
        version_of_[i] = current(uses[i].tensor);
      }
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].range.empty() && starts_version(uses[i])) {
        version_of_[i] = renamed(uses[i].tensor);
      }
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].range.empty()) continue;
      plan::Use use{version_of_[i], uses[i].access, uses[i].range};
      use.argument = recorded.indirect && i + 1 == uses.size();
      use.any_offset = takes_any_offset(recorded, i) || use.argument;
      out_.problem.uses.push_back(use);
    }
    task.use_count = static_cast<std::uint32_t>(out_.problem.uses.size()) - task.first_use;
    out_.problem.tasks.push_back(task);
    if (recorded.kind == plan::TaskKind::dispatch) add_in_place_pairs(recorded, uses);
  }

  [[nodiscard]] bool takes_any_offset(const RecordedTask& recorded, std::size_t use) const {
    if (recorded.kind != plan::TaskKind::dispatch || device_.unaligned_bindings) return true;
    const KernelSignature& signature = window_.kernels()[recorded.kernel].signature();
    return use < signature.bindings.size() &&
           std::ranges::any_of(
               signature.uniforms,
               [&](const UniformField& field) {
                 return field.builtin == Builtin::first_element &&
                        field.binding == signature.bindings[use].name;
               });
  }

  // One output of a task may take over an input: code exists per pair, not for every mixture.
  void add_in_place_pairs(const RecordedTask& recorded, std::span<const RecordedUse> uses) {
    const Kernel& kernel = window_.kernels()[recorded.kernel];
    const KernelSignature& signature = kernel.signature();
    plan::VersionId output;
    for (std::size_t p = 0; p < signature.in_place.size(); ++p) {
      const std::uint32_t choice = 1U << p;
      if (kernel.code(device_.target, Variant::in_place, choice) == nullptr) continue;
      const std::size_t in = binding_index(signature, signature.in_place[p].input);
      const std::size_t out = binding_index(signature, signature.in_place[p].output);
      if (uses[in].range.empty() || !starts_version(uses[out])) continue;
      if (output.valid() && output != version_of_[out]) continue;
      output = version_of_[out];
      out_.problem.in_place.push_back(
          {plan::TaskId(static_cast<std::uint32_t>(out_.problem.tasks.size() - 1)), version_of_[in],
           output, choice});
    }
  }

  static std::size_t binding_index(const KernelSignature& signature, const std::string& name) {
    const auto found = std::ranges::find(signature.bindings, name, &BindingSignature::name);
    return static_cast<std::size_t>(found - signature.bindings.begin());
  }

  [[nodiscard]] bool starts_version(const RecordedUse& use) const {
    return use.access == Access::write && !use.range.empty() &&
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
    version.alignment = device_.limits.offset_alignment;
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
  const runtime::Capabilities& device_;
  std::vector<plan::VersionId> version_of_;  // of the uses of the task that is added
  WindowProblem out_;
};

}  // namespace

WindowProblem make_problem(const Window& window, const std::vector<TensorFacts>& facts,
                           const runtime::Capabilities& device) {
  return Builder(window, facts, device).build();
}

}  // namespace berth::client
