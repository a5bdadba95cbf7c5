// SPDX-License-Identifier: Apache-2.0
//
// repair(): removes what placement cannot solve. First the cheapest set of movable fixed versions
// is moved (rename where no contents exist yet, else relocate); what is left in a task is promoted
// if its variant exists and may, else bounced through transients. Refuses what the options forbid.
#include "berth/plan/repair.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "berth/error.hpp"
#include "plan/conflict.hpp"
#include "plan/cover.hpp"
#include "plan/pool_problem.hpp"

namespace berth::plan {
namespace {

using detail::Clash;
using detail::ClashFinder;
using detail::kNever;
using detail::kNone;

std::vector<Clash> all_clashes(const Problem& problem) {
  std::vector<Clash> clashes;
  const ClashFinder finder(problem);
  for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) finder.find(t, clashes);
  return clashes;
}

/// Writes a new list of tasks from an old one, with copies in between.
class Rewriter {
 public:
  explicit Rewriter(Repaired& result) : result_(result), old_(std::move(result.problem)) {
    result_.problem = old_;
    result_.problem.tasks.clear();
    result_.problem.uses.clear();
    old_original_ = std::move(result.original);
    result_.original.clear();
    new_id_.assign(old_.tasks.size(), TaskId{});
  }

  [[nodiscard]] const Problem& old() const { return old_; }
  [[nodiscard]] Problem& problem() { return result_.problem; }

  [[nodiscard]] TaskId next() const {
    return TaskId{static_cast<std::uint32_t>(result_.problem.tasks.size())};
  }

  VersionId add_version(const Version& version) {
    result_.problem.versions.push_back(version);
    return VersionId{static_cast<std::uint32_t>(result_.problem.versions.size() - 1)};
  }

  TaskId add_copy(const Use& from, const Use& to) {
    Task copy;
    copy.kind = TaskKind::copy;
    copy.first_use = static_cast<std::uint32_t>(result_.problem.uses.size());
    copy.use_count = 2;
    for (Use use : {from, to}) {
      use.any_offset = true;  // copies are bound nowhere
      result_.problem.uses.push_back(use);
    }
    result_.problem.tasks.push_back(copy);
    result_.original.emplace_back();
    return TaskId{static_cast<std::uint32_t>(result_.problem.tasks.size() - 1)};
  }

  void add_task(std::uint32_t t, const std::vector<Use>& uses) {
    Task task = old_.tasks[t];
    task.first_use = static_cast<std::uint32_t>(result_.problem.uses.size());
    result_.problem.uses.insert(result_.problem.uses.end(), uses.begin(), uses.end());
    new_id_[t] = TaskId{static_cast<std::uint32_t>(result_.problem.tasks.size())};
    result_.problem.tasks.push_back(task);
    result_.original.push_back(old_original_[t]);
  }

  /// Rewrites in-place pairs and earlier repairs to the new task numbers.
  void finish(std::size_t repairs_before) {
    for (InPlacePair& pair : result_.problem.in_place) pair.task = new_id_[pair.task.index()];
    for (std::size_t r = 0; r < repairs_before; ++r) {
      Repair& repair = result_.repairs[r];
      if (repair.task.valid()) repair.task = new_id_[repair.task.index()];
      for (TaskId& copy : repair.copies) copy = new_id_[copy.index()];
    }
  }

 private:
  Repaired& result_;
  Problem old_;
  std::vector<TaskId> old_original_;
  std::vector<TaskId> new_id_;
};

/// Moves fixed versions that clash with others, the fewest bytes of them.
class Mover {
 public:
  Mover(Repaired& result, const RepairOptions& options) : result_(result), options_(options) {}

  void run(const std::vector<Clash>& clashes) {
    choose(clashes);
    if (std::find(moves_.begin(), moves_.end(), 1) == moves_.end()) return;
    rewrite();
  }

 private:
  void choose(const std::vector<Clash>& clashes) {
    const Problem& problem = result_.problem;
    first_clash_.assign(problem.versions.size(), kNone);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const Clash& clash : clashes) {
      const std::uint32_t a = problem.uses[clash.a].version.value;
      const std::uint32_t b = problem.uses[clash.b].version.value;
      if (a == b) continue;
      edges.emplace_back(a, b);
      for (const std::uint32_t v : {a, b}) {
        if (first_clash_[v] == kNone) first_clash_[v] = clash.task;
      }
    }
    has_contents_.assign(problem.versions.size(), 0);
    for (std::size_t v = 0; v < has_contents_.size(); ++v) {
      has_contents_[v] = problem.versions[v].incoming ? 1 : 0;
    }
    for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) {
      const Task& task = problem.tasks[t];
      for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
        const Use& use = problem.uses[u];
        const std::uint32_t clash = first_clash_[use.version.index()];
        if (t < clash || (t == clash && reads(use.access))) has_contents_[use.version.index()] = 1;
      }
    }
    std::vector<Bytes> weight(problem.versions.size(), kNever);
    for (std::size_t v = 0; v < weight.size(); ++v) {
      const Version& version = problem.versions[v];
      if (first_clash_[v] == kNone || !version.fixed || !version.movable) continue;
      const Bytes copied = has_contents_[v] != 0 ? version.bytes : 0;
      if (copied != 0 && (!options_.relocate || copied > options_.max_copy_bytes)) continue;
      weight[v] = copied;
    }
    moves_ = detail::cheapest_cover(weight, edges);
  }

  void rewrite() {
    const std::size_t repairs_before = result_.repairs.size();
    Rewriter out(result_);
    const Problem& old = out.old();
    std::vector<VersionId> now(old.versions.size());
    for (std::uint32_t v = 0; v < now.size(); ++v) now[v] = VersionId{v};
    std::vector<std::vector<std::uint32_t>> at(old.tasks.size());
    for (std::uint32_t v = 0; v < moves_.size(); ++v) {
      if (moves_[v] != 0) at[first_clash_[v]].push_back(v);
    }
    std::vector<Use> uses;
    for (std::uint32_t t = 0; t < old.tasks.size(); ++t) {
      for (const std::uint32_t v : at[t]) move(v, out, now);
      const Task& task = old.tasks[t];
      uses.assign(old.uses.begin() + task.first_use,
                  old.uses.begin() + task.first_use + task.use_count);
      for (Use& use : uses) use.version = now[use.version.index()];
      for (const std::uint32_t r : pending_) result_.repairs[r].task = out.next();
      pending_.clear();
      out.add_task(t, uses);
    }
    for (InPlacePair& pair : out.problem().in_place) {
      const std::uint32_t t = pair.task.value;
      for (VersionId* v : {&pair.input, &pair.output}) {
        if (moves_[v->index()] != 0 && t >= first_clash_[v->index()]) *v = now[v->index()];
      }
    }
    for (Apart& apart : out.problem().apart) {
      apart.a = now[apart.a.index()];
      apart.b = now[apart.b.index()];
    }
    out.finish(repairs_before);
  }

  void move(std::uint32_t v, Rewriter& out, std::vector<VersionId>& now) {
    pending_.push_back(static_cast<std::uint32_t>(result_.repairs.size()));
    Version& from = out.problem().versions[v];
    if (has_contents_[v] == 0) {  // nothing to copy: the version just is not fixed any more
      from.fixed.reset();
      from.movable = false;
      result_.repairs.push_back({RepairKind::rename, {}, VersionId{v}, VersionId{v}, {}, 0});
      return;
    }
    Version fresh = from;
    fresh.fixed.reset();
    fresh.movable = false;
    fresh.incoming = false;
    from.outlives = false;
    const Range whole{0, fresh.bytes};
    const VersionId to = out.add_version(fresh);
    now[v] = to;
    const TaskId copy =
        out.add_copy({VersionId{v}, Access::read, whole}, {to, Access::write, whole});
    result_.repairs.push_back({RepairKind::relocate, {}, VersionId{v}, to, {copy}, fresh.bytes});
  }

  Repaired& result_;
  const RepairOptions& options_;
  std::vector<std::uint32_t> first_clash_;
  std::vector<std::uint8_t> has_contents_;
  std::vector<std::uint8_t> moves_;
  std::vector<std::uint32_t> pending_;  ///< repairs of the task that comes next
};

/// Solves what is left task by task: promotes, or bounces uses through transients.
class Bouncer {
 public:
  Bouncer(Repaired& result, const RepairOptions& options) : result_(result), options_(options) {}

  void run(const std::vector<Clash>& clashes) {
    const std::size_t repairs_before = result_.repairs.size();
    const std::vector<TaskId> original = result_.original;
    Rewriter out(result_);
    const Problem& old = out.old();
    const ClashFinder finder(old);
    auto clash = clashes.begin();
    std::vector<Use> uses;
    for (std::uint32_t t = 0; t < old.tasks.size(); ++t) {
      const Task& task = old.tasks[t];
      uses.assign(old.uses.begin() + task.first_use,
                  old.uses.begin() + task.first_use + task.use_count);
      const auto first = clash;
      while (clash != clashes.end() && clash->task == t) ++clash;
      if (first == clash) {
        out.add_task(t, uses);
      } else if (may_promote(finder, t, original[t], task)) {
        result_.repairs.push_back(
            {RepairKind::promote, out.next(), old.uses[first->a].version, VersionId{}, {}, 0});
        out.add_task(t, uses);
        out.problem().tasks.back().promoted = true;
      } else {
        bounce(out, t, {first, clash}, uses);
      }
    }
    std::erase_if(out.problem().in_place, [&](const InPlacePair& pair) {
      return std::find(bounced_.begin(), bounced_.end(), std::pair(pair.task, pair.input)) !=
                 bounced_.end() ||
             std::find(bounced_.begin(), bounced_.end(), std::pair(pair.task, pair.output)) !=
                 bounced_.end();
    });
    out.finish(repairs_before);
  }

 private:
  bool may_promote(const ClashFinder& finder, std::uint32_t t, TaskId original,
                   const Task& task) const {
    return original.valid() && original.index() < options_.promotable.size() &&
           options_.promotable[original.index()] != 0 && !task.promoted &&
           task.kind == TaskKind::dispatch && finder.promotable(t);
  }

  static Bytes cost(const Use& use) {
    return (reads(use.access) ? use.range.bytes : 0) + (writes(use.access) ? use.range.bytes : 0);
  }

  /// Which uses leave: the cheapest cover of the task's clashes.
  std::vector<std::uint8_t> leaving(const Problem& old, const Task& task,
                                    std::span<const Clash> clashes) const {
    std::vector<Bytes> weight(task.use_count);
    std::vector<std::uint8_t> forced(task.use_count, 0);
    for (std::uint32_t u = 0; u < task.use_count; ++u) {
      weight[u] = cost(old.uses[task.first_use + u]);
      if (!options_.bounce || weight[u] > options_.max_copy_bytes) weight[u] = kNever;
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const Clash& clash : clashes) {
      if (clash.a == clash.b) forced[clash.a - task.first_use] = 1;
    }
    for (const Clash& clash : clashes) {
      const std::uint32_t a = clash.a - task.first_use;
      const std::uint32_t b = clash.b - task.first_use;
      if (weight[a] == kNever && weight[b] == kNever) refuse(old, clash);
      if (forced[a] == 0 && forced[b] == 0) edges.emplace_back(a, b);
    }
    std::vector<std::uint8_t> leaves = detail::cheapest_cover(weight, edges);
    for (std::size_t u = 0; u < leaves.size(); ++u) leaves[u] |= forced[u];
    return leaves;
  }

  [[noreturn]] void refuse(const Problem& old, const Clash& clash) const {
    const Use& a = old.uses[clash.a];
    const Use& b = old.uses[clash.b];
    if (clash.a == clash.b) {
      throw Unsupported("Task " + std::to_string(clash.task) + " uses version " +
                        std::to_string(a.version.value) + " from byte " +
                        std::to_string(a.range.offset) +
                        " on, but bindings begin at multiples of " +
                        std::to_string(old.device.binding_alignment) +
                        ", and a bounce is switched off or would copy more than " +
                        std::to_string(options_.max_copy_bytes) + " bytes.");
    }
    throw Unsupported("Task " + std::to_string(clash.task) + " uses version " +
                      std::to_string(a.version.value) + " as " + name_of(a.access) +
                      " and version " + std::to_string(b.version.value) + " as " +
                      name_of(b.access) +
                      ", which lie on one page, and no repair that is allowed solves it: neither "
                      "version may be moved, the task has no promoted variant that fits, and a "
                      "bounce is switched off or would copy more than " +
                      std::to_string(options_.max_copy_bytes) + " bytes.");
  }

  void bounce(Rewriter& out, std::uint32_t t, std::span<const Clash> clashes,
              std::vector<Use>& uses) {
    const Problem& old = out.old();
    const std::vector<std::uint8_t> leaves = leaving(old, old.tasks[t], clashes);
    struct Back {
      Use from;
      Use to;
      std::size_t repair;
    };
    std::vector<Back> back;
    const std::size_t first_repair = result_.repairs.size();
    for (std::size_t u = 0; u < uses.size(); ++u) {
      if (leaves[u] == 0) continue;
      const Use use = uses[u];
      const Version& version = old.versions[use.version.index()];
      Version transient;
      transient.tensor = version.tensor;
      transient.bytes = use.range.bytes;
      transient.alignment = std::max(version.alignment, old.device.binding_alignment);
      transient.pool = options_.bounce_pool;
      const VersionId to = out.add_version(transient);
      const Range whole{0, use.range.bytes};
      Repair repair{RepairKind::bounce, {}, use.version, to, {}, cost(use)};
      if (reads(use.access)) {
        repair.copies.push_back(
            out.add_copy({use.version, Access::read, use.range}, {to, Access::write, whole}));
      }
      if (writes(use.access)) {
        back.push_back({{to, Access::read, whole},
                        {use.version, Access::write, use.range},
                        result_.repairs.size()});
      }
      result_.repairs.push_back(std::move(repair));
      bounced_.emplace_back(TaskId{t}, use.version);
      uses[u].version = to;
      uses[u].range = whole;
    }
    for (std::size_t r = first_repair; r < result_.repairs.size(); ++r) {
      result_.repairs[r].task = out.next();
    }
    out.add_task(t, uses);
    for (const Back& b : back) {
      result_.repairs[b.repair].copies.push_back(out.add_copy(b.from, b.to));
    }
  }

  Repaired& result_;
  const RepairOptions& options_;
  std::vector<std::pair<TaskId, VersionId>> bounced_;  ///< by the old task numbers
};

}  // namespace

const char* name_of(RepairKind kind) {
  switch (kind) {
    case RepairKind::rename:
      return "rename";
    case RepairKind::relocate:
      return "relocate";
    case RepairKind::bounce:
      return "bounce";
    case RepairKind::promote:
      return "promote";
  }
  return "?";
}

Repaired repair(Problem problem, const RepairOptions& options) {
  Repaired result;
  result.problem = std::move(problem);
  result.original.reserve(result.problem.tasks.size());
  for (std::uint32_t t = 0; t < result.problem.tasks.size(); ++t) {
    result.original.emplace_back(t);
  }
  std::vector<Clash> clashes = all_clashes(result.problem);
  if (clashes.empty()) return result;
  Mover(result, options).run(clashes);
  clashes = all_clashes(result.problem);
  if (!clashes.empty()) Bouncer(result, options).run(clashes);
  return result;
}

}  // namespace berth::plan
