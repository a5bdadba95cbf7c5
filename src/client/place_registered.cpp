// SPDX-License-Identifier: Apache-2.0
//
// The policies `per_task` and `exclusive`: each tensor is mapped when its task comes, by the
// manager's `map` with the pages excluded that the task uses with another visibility. Where tensors
// that are mapped already stand in each other's way, one is copied elsewhere for good (a
// relocation).
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/free_ranges.hpp"
#include "client/placement.hpp"

namespace berth::client {

namespace {

using memory::PoolKind;

class Registered {
 public:
  Registered(const PlacementInput& input, memory::Manager& manager)
      : input_(input),
        manager_(manager),
        device_(input.backend.capabilities()),
        pool_(input.options.policy == Policy::exclusive ? PoolKind::exclusive : PoolKind::sliced) {}

  Placed place() {
    find_old_places();
    made_ = make_problem(input_.window, facts_, device_);
    out_.renames = made_.renames;
    leave_overwritten();
    list_pages();
    solve_within_tasks();
    begin_answer();
    for (std::uint32_t t = 0; t < base_.problem.tasks.size(); ++t) {
      if (auto failure = add_task(plan::TaskId(t))) return *failure;
    }
    finish();
    return std::move(out_);
  }

 private:
  [[nodiscard]] plan::Problem& problem() { return out_.repaired.problem; }

  void find_old_places() {
    facts_ = input_.facts;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const memory::TensorSlot slot = slot_of(i);
      if (!slot.valid()) continue;
      if (const auto& slice = manager_.place_of(slot)) {
        facts_[i].place = plan::Place{plan::PageId(slice->page.value), slice->offset};
      }
    }
  }
  [[nodiscard]] memory::TensorSlot slot_of(std::size_t tensor) const {
    return memory::TensorSlot(input_.window.tensors()[tensor]->slot);
  }

  void leave_overwritten() {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].place || made_.incoming_version[i].valid()) continue;
      manager_.unmap(slot_of(i));
      out_.dead.push_back(slot_of(i));
    }
  }

  // Every page of the pool is one of the problem's existing pages; those made on the way follow.
  void list_pages() {
    for (const memory::Page* page : manager_.pages(pool_)) {
      const plan::PageId index = add_page(page->id());
      plan::Page& listed = made_.problem.pages.emplace_back();
      listed.bytes = page->bytes();
      listed.pool = kTransientPool;
      listed.free.assign(page->free().ranges().begin(), page->free().ranges().end());
      listed.idle = page->idle();
      out_.plan.pages[index.index()].pool = kTransientPool;
    }
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const memory::TensorSlot slot = slot_of(i);
      if (!slot.valid()) continue;
      if (const auto& slice = manager_.place_of(slot)) {
        add_free(made_.problem.pages[index_of_.at(slice->page.value).index()], padding_of(*slice));
      }
    }
  }
  plan::PageId add_page(memory::PageId page) {
    const plan::PageId index(static_cast<std::uint32_t>(out_.pages.size()));
    index_of_.emplace(page.value, index);
    out_.pages.push_back(page);
    out_.plan.pages.push_back({0, kTransientPool, false});
    return index;
  }

  // Ranges of one tensor in one task, and ranges that cannot be bound where they begin, are bounced
  // as under any policy. Clashes between places are solved below, task by task.
  void solve_within_tasks() {
    // Under these policies long-lived tensors and transients share a pool.
    std::vector<std::optional<plan::Place>> fixed;
    for (plan::Version& version : made_.problem.versions) {
      version.pool = kTransientPool;
      fixed.push_back(std::exchange(version.fixed, std::nullopt));
    }
    plan::RepairOptions options;
    options.relocate = false;
    options.bounce_pool = kTransientPool;
    if (input_.options.repairs == Repairs::forbidden) options.max_copy_bytes = 0;
    base_ = plan::repair(std::move(made_.problem), options);
    for (std::size_t v = 0; v < fixed.size(); ++v) {
      if (fixed[v]) fixed[v]->page = index_of_.at(fixed[v]->page.value);
      base_.problem.versions[v].fixed = fixed[v];
    }
    if (input_.options.policy == Policy::read_write) promote_tasks();
  }

  // The baseline: all bindings read_write, where that variant is compiled and no two ranges meet.
  void promote_tasks() {
    const std::vector<std::uint8_t> promotable = promotable_tasks(input_);
    for (std::uint32_t t = 0; t < base_.problem.tasks.size(); ++t) {
      const plan::TaskId original = base_.original[t];
      const bool dispatch = base_.problem.tasks[t].kind == plan::TaskKind::dispatch;
      if (!dispatch || !original.valid()) continue;
      if (promotable[original.index()] != 0 && ranges_apart(t)) {
        base_.problem.tasks[t].promoted = true;
      } else {
        ++out_.unpromoted;
      }
    }
  }
  [[nodiscard]] bool ranges_apart(std::uint32_t task) const {
    const Bytes alignment = device_.limits.offset_alignment;
    const auto uses = uses_of(task);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      for (std::size_t j = i + 1; j < uses.size(); ++j) {
        if (uses[i].version != uses[j].version) continue;
        const Range a{
            align_down(uses[i].range.offset, alignment),
            align_up(uses[i].range.end(), alignment) - align_down(uses[i].range.offset, alignment)};
        if (a.overlaps(uses[j].range) || uses[i].argument || uses[j].argument) return false;
      }
    }
    return true;
  }

  void begin_answer() {
    problem() = base_.problem;
    problem().device.page_granularity = 1;
    problem().in_place.clear();
    problem().tasks.clear();
    problem().uses.clear();
    out_.plan.places.resize(problem().versions.size());
    for (std::size_t v = 0; v < problem().versions.size(); ++v) {
      if (problem().versions[v].fixed) out_.plan.places[v] = *problem().versions[v].fixed;
    }
    inherited_.resize(base_.problem.versions.size(), 0);
    now_.resize(base_.problem.versions.size());
    slots_.resize(base_.problem.versions.size());
    last_task_.resize(base_.problem.versions.size(), 0);
    for (std::uint32_t v = 0; v < now_.size(); ++v) {
      now_[v] = plan::VersionId(v);
      if (base_.problem.versions[v].fixed)
        slots_[v] = slot_of(base_.problem.versions[v].tensor.index());
    }
    for (std::uint32_t t = 0; t < base_.problem.tasks.size(); ++t) {
      for (const plan::Use& use : uses_of(t)) last_task_[use.version.index()] = t;
    }
  }

  [[nodiscard]] std::span<const plan::Use> uses_of(std::uint32_t task) const {
    const plan::Task& t = base_.problem.tasks[task];
    return std::span(base_.problem.uses).subspan(t.first_use, t.use_count);
  }
  /// `version` is one of `base_`; its place is that of what stands for it now.
  [[nodiscard]] const std::optional<memory::Slice>& slice_of(plan::VersionId version) const {
    static const std::optional<memory::Slice> kNone;
    const memory::TensorSlot slot = slots_[version.index()];
    return slot.valid() ? manager_.place_of(slot) : kNone;
  }
  [[nodiscard]] bool is_written(std::uint32_t task, plan::VersionId version) const {
    const bool promoted = base_.problem.tasks[task].promoted;
    return std::ranges::any_of(uses_of(task), [&](const plan::Use& use) {
      return use.version == version && (writes(use.access) || (promoted && !use.argument));
    });
  }

  /// Pages of the versions that this task uses with another visibility than `version`.
  [[nodiscard]] std::vector<memory::PageId> excluded_for(std::uint32_t task,
                                                         plan::VersionId version,
                                                         plan::VersionId but = {}) const {
    std::vector<memory::PageId> excluded;
    if (!device_.exclusion) return excluded;
    const bool written = is_written(task, version);
    for (const plan::Use& use : uses_of(task)) {
      if (use.version == version || use.version == but || is_inherited(use.version)) continue;
      if (is_written(task, use.version) == written) continue;
      if (const auto& slice = slice_of(use.version)) excluded.push_back(slice->page);
    }
    return excluded;
  }

  std::optional<memory::StorageFailure> add_task(plan::TaskId id) {
    const std::uint32_t t = id.value;
    take_over(id);
    for (const plan::Use& use : uses_of(t)) {
      const auto& slice = slice_of(use.version);
      if (slice || base_.problem.versions[use.version.index()].bytes == 0) continue;
      if (auto failure = map(use.version, excluded_for(t, use.version))) return failure;
    }
    for (const plan::Use& use : uses_of(t)) {
      while (clash_of(t, use.version)) {
        for (const plan::VersionId version : cheaper_side(t, use.version)) {
          if (auto failure = relocate(t, version)) return failure;
        }
      }
    }
    plan::Task task = base_.problem.tasks[t];
    const auto uses = uses_of(t);
    task.first_use = static_cast<std::uint32_t>(problem().uses.size());
    for (plan::Use use : uses) {
      use.version = now_[use.version.index()];
      problem().uses.push_back(use);
    }
    push(task, base_.original[t]);
    release_dead(t);
    return std::nullopt;
  }

  // An output takes over the memory of an input that dies here, if the kernel has code for it and
  // nothing else of the task stands on that page with another visibility.
  void take_over(plan::TaskId id) {
    const std::uint32_t t = id.value;
    if (base_.problem.tasks[t].promoted) return;
    for (const plan::InPlacePair& pair : base_.problem.in_place) {
      if (pair.task != id || !dies_in(t, pair.input) || slice_of(pair.output)) continue;
      const plan::Version& in = base_.problem.versions[pair.input.index()];
      const plan::Version& out = base_.problem.versions[pair.output.index()];
      if (in.bytes != out.bytes || !slice_of(pair.input)) continue;
      const auto excluded = excluded_for(t, pair.output, pair.input);
      if (std::ranges::find(excluded, slice_of(pair.input)->page) != excluded.end()) continue;
      slots_[pair.output.index()] = slots_[pair.input.index()];
      inherited_[pair.input.index()] = 1;
      out_.plan.places.resize(problem().versions.size());
      out_.plan.places[now_[pair.output.index()].index()] =
          out_.plan.places[now_[pair.input.index()].index()];
      out_.plan.in_place.push_back(static_cast<std::uint32_t>(problem().in_place.size()));
      problem().in_place.push_back(
          {plan::TaskId(static_cast<std::uint32_t>(problem().tasks.size())),
           now_[pair.input.index()], now_[pair.output.index()], pair.choice});
      return;
    }
  }
  /// Its bytes are an output's by now.
  [[nodiscard]] bool is_inherited(plan::VersionId version) const {
    return inherited_[version.index()] != 0;
  }
  [[nodiscard]] bool dies_in(std::uint32_t task, plan::VersionId version) const {
    const auto uses = uses_of(task);
    return last_task_[version.index()] == task &&
           !base_.problem.versions[version.index()].outlives &&
           std::ranges::count(uses, version, &plan::Use::version) == 1;
  }

  void push(const plan::Task& task, plan::TaskId original) {
    out_.plan.order.emplace_back(static_cast<std::uint32_t>(problem().tasks.size()));
    problem().tasks.push_back(task);
    out_.repaired.original.push_back(original);
  }

  std::optional<memory::StorageFailure> map(plan::VersionId version,
                                            const std::vector<memory::PageId>& excluded) {
    memory::TensorSlot& slot = slots_[version.index()];
    if (!slot.valid()) slot = manager_.add(base_.problem.versions[version.index()].bytes);
    const memory::Reserved reserved = manager_.map(slot, excluded);
    if (!reserved.ok()) return reserved.failure;
    if (reserved.made.valid()) {
      add_page(reserved.made);
      out_.bytes_made += manager_.find(reserved.made)->bytes();
    }
    out_.plan.places.resize(problem().versions.size());
    out_.plan.places[now_[version.index()].index()] = {index_of_.at(reserved.slice.page.value),
                                                       reserved.slice.offset};
    return std::nullopt;
  }

  /// A version on the same page that this task uses with another visibility.
  [[nodiscard]] std::optional<plan::VersionId> clash_of(std::uint32_t task,
                                                        plan::VersionId version) const {
    if (!device_.exclusion || !slice_of(version)) return std::nullopt;
    if (is_inherited(version)) return std::nullopt;
    const bool written = is_written(task, version);
    for (const plan::Use& use : uses_of(task)) {
      const auto& slice = slice_of(use.version);
      if (slice && !is_inherited(use.version) && use.version != version &&
          slice->page == slice_of(version)->page && is_written(task, use.version) != written) {
        return use.version;
      }
    }
    return std::nullopt;
  }

  // What the task uses of the page of `version`: all that it writes, or all that it only reads,
  // whichever is less to copy.
  [[nodiscard]] std::vector<plan::VersionId> cheaper_side(std::uint32_t task,
                                                          plan::VersionId version) const {
    const memory::PageId page = slice_of(version)->page;
    std::array<std::vector<plan::VersionId>, 2> sides;
    std::array<Bytes, 2> bytes{};
    for (const plan::Use& use : uses_of(task)) {
      const auto& slice = slice_of(use.version);
      if (!slice || slice->page != page || is_inherited(use.version)) continue;
      const std::size_t side = is_written(task, use.version) ? 1 : 0;
      if (std::ranges::find(sides[side], use.version) != sides[side].end()) continue;
      sides[side].push_back(use.version);
      bytes[side] += slice->bytes;
    }
    return bytes[1] <= bytes[0] ? sides[1] : sides[0];
  }

  // A copy task moves the contents; the new version stands for the old one from then on.
  std::optional<memory::StorageFailure> relocate(std::uint32_t task, plan::VersionId version) {
    if (input_.options.repairs == Repairs::forbidden) {
      throw Unsupported(text("A tensor of ", slice_of(version)->bytes,
                             " bytes would have to be copied to another page, but repairs are "
                             "forbidden by an option."));
    }
    std::vector<memory::PageId> excluded = excluded_for(task, version);
    const memory::TensorSlot old = slots_[version.index()];
    excluded.push_back(manager_.place_of(old)->page);  // a copy's two sides are on different pages
    const plan::VersionId from = now_[version.index()];
    const plan::VersionId to(static_cast<std::uint32_t>(problem().versions.size()));
    plan::Version moved = problem().versions[from.index()];
    moved.fixed.reset();
    moved.incoming = false;
    problem().versions[from.index()].outlives = false;
    problem().versions.push_back(moved);
    now_[version.index()] = to;
    slots_[version.index()] = {};
    if (auto failure = map(version, excluded)) return failure;
    plan::Task copy;
    copy.kind = plan::TaskKind::copy;
    copy.first_use = static_cast<std::uint32_t>(problem().uses.size());
    copy.use_count = 2;
    problem().uses.push_back({from, Access::read, {0, moved.bytes}});
    problem().uses.push_back({to, Access::write, {0, moved.bytes}});
    const plan::TaskId copy_id(static_cast<std::uint32_t>(problem().tasks.size()));
    push(copy, {});
    out_.repaired.repairs.push_back({plan::RepairKind::relocate,
                                     plan::TaskId(copy_id.value + 1),
                                     from,
                                     to,
                                     {copy_id},
                                     moved.bytes});
    manager_.unmap(old);
    out_.dead.push_back(old);
    return std::nullopt;
  }

  // The last registered use of a tensor that nobody holds: its memory is free for later tasks.
  void release_dead(std::uint32_t task) {
    for (const plan::Use& use : uses_of(task)) {
      const std::size_t v = use.version.index();
      memory::TensorSlot& slot = slots_[v];
      if (inherited_[v] != 0 || last_task_[v] != task || base_.problem.versions[v].outlives ||
          !slot.valid())
        continue;
      manager_.unmap(slot);
      out_.dead.push_back(slot);
      slot = {};
    }
  }

  void finish() {
    out_.plan.places.resize(problem().versions.size());
    plan::assess(problem(), out_.plan);
    const std::size_t tensors = input_.window.tensors().size();
    out_.slots.assign(tensors, {});
    for (std::size_t i = 0; i < tensors; ++i) {
      const plan::VersionId last = made_.last_version[i];
      if (last.valid() && !is_inherited(last)) out_.slots[i] = slots_[last.index()];
    }
  }

  const PlacementInput& input_;
  memory::Manager& manager_;
  const runtime::Capabilities& device_;
  PoolKind pool_;
  std::vector<TensorFacts> facts_;
  WindowProblem made_;
  plan::Repaired base_;  // what is mapped task by task; `out_` adds the relocations
  Placement out_;
  std::unordered_map<std::uint32_t, plan::PageId> index_of_;
  // Per version of `base_`:
  std::vector<plan::VersionId> now_;       // what stands for it now
  std::vector<memory::TensorSlot> slots_;  // where that lies
  std::vector<std::uint32_t> last_task_;
  std::vector<std::uint8_t> inherited_;
};

}  // namespace

Placed place_registered(const PlacementInput& input, memory::Manager& manager) {
  return Registered(input, manager).place();
}

}  // namespace berth::client
