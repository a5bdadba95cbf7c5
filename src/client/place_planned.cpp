// SPDX-License-Identifier: Apache-2.0
//
// The policy `window`: the planner sees the whole window, then the manager follows its plan.
#include <algorithm>
#include <unordered_map>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/free_ranges.hpp"
#include "client/placement.hpp"

namespace berth::client {

namespace {

using memory::PoolKind;

class Planned {
 public:
  Planned(const PlacementInput& input, memory::Manager& manager)
      : input_(input), manager_(manager), device_(input.backend.capabilities()) {}

  Placed place() {
    Placement out = plan();
    if (auto failure = follow(out)) return *failure;
    return out;
  }

  /// Of new pages, were the window placed now.
  Bytes bytes_to_make() {
    const Placement planned = plan();
    const plan::Problem& problem = planned.repaired.problem;
    std::vector<Bytes> idle = idle_transient_pages();
    Bytes bytes = 0;
    for (const Bytes wanted : new_extents(problem, planned.plan, kPersistentPool)) {
      bytes += align_up(wanted, device_.page_granularity);
    }
    for (const Bytes wanted : new_extents(problem, planned.plan, kTransientPool)) {
      const bool fits = !idle.empty() && idle.front() >= wanted;
      if (fits) {
        idle.erase(idle.begin());
      } else {
        bytes += align_up(wanted, device_.page_granularity);
      }
    }
    return bytes;
  }

 private:
  Placement plan() {
    list_pages();
    WindowProblem made = make_problem(input_.window, facts_, device_);
    free_overwritten(made);
    choose_goal(made.problem);
    Placement out;
    out.renames = made.renames;
    out.repaired = plan::repair(std::move(made.problem), repair_options());
    out.plan = solve(out.repaired.problem);
    return out;
  }

  // The pages of long-lived tensors are the planner's existing pages.
  void list_pages() {
    for (const memory::Page* page : manager_.pages(PoolKind::persistent)) {
      index_of_.emplace(page->id().value, plan::PageId(static_cast<std::uint32_t>(pages_.size())));
      ids_.push_back(page->id());
      plan::Page& listed = pages_.emplace_back();
      listed.bytes = page->bytes();
      listed.pool = kPersistentPool;
      listed.free.assign(page->free().ranges().begin(), page->free().ranges().end());
      listed.idle = page->idle();
    }
    facts_ = input_.facts;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (const auto slice = slice_of(i)) {
        facts_[i].place = plan::Place{index_of_.at(slice->page.value), slice->offset};
      }
    }
  }

  [[nodiscard]] memory::TensorSlot slot_of(std::size_t tensor) const {
    return memory::TensorSlot(input_.window.tensors()[tensor]->slot);
  }
  [[nodiscard]] std::optional<memory::Slice> slice_of(std::size_t tensor) const {
    const memory::TensorSlot slot = slot_of(tensor);
    return slot.valid() ? manager_.place_of(slot) : std::nullopt;
  }

  // Old contents that no task of the window needs leave their room to the window.
  void free_overwritten(WindowProblem& made) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].place) continue;
      plan::Page& page = pages_[facts_[i].place->page.index()];
      const memory::Slice slice = *slice_of(i);
      add_free(page, made.incoming_version[i].valid() ? padding_of(slice) : slice.taken_range());
    }
    made.problem.pages = pages_;
  }

  void choose_goal(plan::Problem& problem) const {
    MemoryMode mode = input_.options.mode;
    if (mode == MemoryMode::automatic) {
      mode = device_.overlap == runtime::Overlap::none ? MemoryMode::least_memory
                                                       : MemoryMode::most_overlap;
    }
    if (mode == MemoryMode::most_overlap) {
      problem.goal.mode = plan::Mode::most_overlap;
      problem.goal.order = plan::Order::level;
      problem.goal.extra_at_least = 32 * kMiB;
    } else {
      problem.goal.mode = plan::Mode::least_memory;
      problem.goal.order = plan::Order::free;
    }
  }

  [[nodiscard]] plan::RepairOptions repair_options() const {
    plan::RepairOptions options;
    options.bounce_pool = kTransientPool;
    if (input_.options.repairs == Repairs::allowed) options.promotable = promotable_tasks(input_);
    if (input_.options.repairs == Repairs::forbidden) options.max_copy_bytes = 0;
    return options;
  }

  // A plan that makes pages is worth more effort: pages made for a bad plan stay.
  [[nodiscard]] plan::Plan solve(const plan::Problem& problem) const {
    auto answer = input_.seams.planner(problem, {.effort = plan::Effort::fast});
    const bool makes_pages = std::holds_alternative<plan::NoPlan>(answer) ||
                             needs_pages(problem, std::get<plan::Plan>(answer));
    if (makes_pages) {
      auto better = input_.seams.planner(problem, {.effort = plan::Effort::good});
      if (std::holds_alternative<plan::Plan>(better)) answer = std::move(better);
    }
    if (const auto* none = std::get_if<plan::NoPlan>(&answer)) {
      throw Error(ErrorCode::too_large,
                  text("The window cannot be placed on this device: ", none->message));
    }
    return std::get<plan::Plan>(std::move(answer));
  }

  [[nodiscard]] bool needs_pages(const plan::Problem& problem, const plan::Plan& plan) const {
    if (!new_extents(problem, plan, kPersistentPool).empty()) return true;
    const std::vector<Bytes> wanted = new_extents(problem, plan, kTransientPool);
    const std::vector<Bytes> idle = idle_transient_pages();
    if (wanted.size() > idle.size()) return true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] > idle[i]) return true;
    }
    return false;
  }
  /// Largest first.
  static std::vector<Bytes> new_extents(const plan::Problem& problem, const plan::Plan& plan,
                                        plan::PoolId pool) {
    std::vector<Bytes> extents;
    for (std::size_t p = problem.pages.size(); p < plan.pages.size(); ++p) {
      if (plan.pages[p].used && plan.pages[p].pool == pool) extents.push_back(plan.pages[p].bytes);
    }
    std::ranges::sort(extents, std::greater{});
    return extents;
  }
  /// Largest first.
  [[nodiscard]] std::vector<Bytes> idle_transient_pages() const {
    std::vector<Bytes> idle;
    for (const memory::Page* page : manager_.pages(PoolKind::transient)) {
      if (page->idle()) idle.push_back(page->bytes());
    }
    std::ranges::sort(idle, std::greater{});
    return idle;
  }

  std::optional<memory::StorageFailure> follow(Placement& out) {
    const plan::Problem& problem = out.repaired.problem;
    out.pages.assign(out.plan.pages.size(), {});
    for (std::size_t p = 0; p < problem.pages.size(); ++p) out.pages[p] = ids_[p];
    if (auto failure = make_persistent_pages(problem, out)) return failure;
    if (auto failure = lend_transient_pages(problem, out)) return failure;
    settle_tensors(problem, out);
    return std::nullopt;
  }

  std::optional<memory::StorageFailure> make_persistent_pages(const plan::Problem& problem,
                                                              Placement& out) {
    std::vector<memory::NewPage> wanted;
    std::vector<std::size_t> pages;
    for (std::size_t p = problem.pages.size(); p < out.plan.pages.size(); ++p) {
      if (!out.plan.pages[p].used || out.plan.pages[p].pool != kPersistentPool) continue;
      wanted.push_back({PoolKind::persistent, out.plan.pages[p].bytes});
      pages.push_back(p);
    }
    if (wanted.empty()) return std::nullopt;
    const memory::MadePages made = manager_.make_pages(wanted);
    if (!made.ok()) return made.failure;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      out.pages[pages[i]] = made.pages[i];
      out.bytes_made += manager_.find(made.pages[i])->bytes();
    }
    return std::nullopt;
  }

  std::optional<memory::StorageFailure> lend_transient_pages(const plan::Problem& problem,
                                                             Placement& out) {
    std::vector<Bytes> extents;
    std::vector<std::size_t> pages;
    for (std::size_t p = problem.pages.size(); p < out.plan.pages.size(); ++p) {
      if (!out.plan.pages[p].used || out.plan.pages[p].pool != kTransientPool) continue;
      extents.push_back(out.plan.pages[p].bytes);
      pages.push_back(p);
    }
    if (extents.empty()) return std::nullopt;
    const memory::LentPages lent = manager_.lend(extents);
    if (!lent.ok()) return lent.failure;
    for (std::size_t i = 0; i < pages.size(); ++i) out.pages[pages[i]] = lent.pages[i].page;
    for (const memory::PageId page : lent.made) out.bytes_made += manager_.find(page)->bytes();
    out.lent = lent.pages;
    return std::nullopt;
  }

  // Tensors that die or move leave their room first, then those that outlive the window take
  // theirs.
  void settle_tensors(const plan::Problem& problem, Placement& out) {
    const std::size_t tensors = input_.window.tensors().size();
    out.slots.assign(tensors, {});
    const std::vector<plan::VersionId> last = last_versions(problem, tensors);
    std::vector<bool> stays(tensors, false);
    for (std::size_t i = 0; i < tensors; ++i) {
      const memory::TensorSlot slot = slot_of(i);
      if (!slot.valid()) continue;
      stays[i] = last[i].valid() && facts_[i].place == out.plan.places[last[i].index()];
      if (!stays[i]) manager_.unmap(slot);
      if (last[i].valid()) {
        out.slots[i] = slot;
      } else {
        out.dead.push_back(slot);
      }
    }
    for (std::size_t i = 0; i < tensors; ++i) {
      if (!last[i].valid() || stays[i]) continue;
      const plan::Place& place = out.plan.places[last[i].index()];
      if (!out.slots[i].valid())
        out.slots[i] = manager_.add(problem.versions[last[i].index()].bytes);
      manager_.set_place(out.slots[i], out.pages[place.page.index()], place.offset,
                         device_.limits.offset_alignment);
    }
  }

  // Repairs make new versions: the last one is looked up in the problem that was placed.
  static std::vector<plan::VersionId> last_versions(const plan::Problem& problem,
                                                    std::size_t tensors) {
    std::vector<plan::VersionId> last(tensors);
    for (std::size_t v = 0; v < problem.versions.size(); ++v) {
      const plan::Version& version = problem.versions[v];
      if (version.outlives && version.bytes != 0) {
        last[version.tensor.index()] = plan::VersionId(static_cast<std::uint32_t>(v));
      }
    }
    return last;
  }

  const PlacementInput& input_;
  memory::Manager& manager_;
  const runtime::Capabilities& device_;
  std::vector<TensorFacts> facts_;
  std::vector<plan::Page> pages_;
  std::vector<memory::PageId> ids_;
  std::unordered_map<std::uint32_t, plan::PageId> index_of_;
};

}  // namespace

Bytes bytes_to_make(const PlacementInput& input, memory::Manager& manager) {
  return Planned(input, manager).bytes_to_make();
}

std::vector<std::uint8_t> promotable_tasks(const PlacementInput& input) {
  std::vector<std::uint8_t> promotable;
  for (const RecordedTask& task : input.window.tasks()) {
    // The stand-in of an empty tensor is bound read_write to tell it from a promise to write all of
    // it; bound all read_write, nothing would tell them apart.
    const bool writes_nothing_somewhere = std::ranges::any_of(
        input.window.uses_of(task),
        [](const RecordedUse& use) { return use.access == Access::write && use.range.empty(); });
    promotable.push_back(
        task.kind == plan::TaskKind::dispatch && !writes_nothing_somewhere &&
                input.backend.compiled(input.window.kernels()[task.kernel], Variant::promoted, 0)
            ? 1
            : 0);
  }
  return promotable;
}

Placed place_planned(const PlacementInput& input, memory::Manager& manager) {
  return Planned(input, manager).place();
}

}  // namespace berth::client
