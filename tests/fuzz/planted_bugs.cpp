// SPDX-License-Identifier: Apache-2.0
#include "planted_bugs.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/registry.hpp"

namespace berth::fuzz {

namespace {

constexpr std::array<std::string_view, 7> kNames = {"none",
                                                    "exclusion-ignored",
                                                    "lifetime-short",
                                                    "upload-first",
                                                    "wrong-slice-offset",
                                                    "stale-bind-group",
                                                    "streams-not-ordered"};

/// Passes everything on, but for what the bug changes.
class BuggyBackend final : public runtime::Backend {
 public:
  BuggyBackend(Bug bug, std::unique_ptr<runtime::Backend> real)
      : bug_(bug), real_(std::move(real)), capabilities_(real_->capabilities()) {
    if (bug_ == Bug::exclusion_ignored) capabilities_.exclusion = false;
  }

  Made make_page(const memory::PageRequest& request) override { return real_->make_page(request); }
  void free_page(memory::PageHandle page) noexcept override {
    std::erase_if(seen_, [page](const Seen& seen) { return seen.page == page; });
    real_->free_page(page);
  }
  [[nodiscard]] Bytes max_page_bytes() const override { return real_->max_page_bytes(); }
  [[nodiscard]] const runtime::Capabilities& capabilities() const override { return capabilities_; }
  void compile(const Kernel& kernel, Variant variant, std::uint32_t pairs) override {
    real_->compile(kernel, variant, pairs);
  }
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t pairs) const override {
    return real_->compiled(kernel, variant, pairs);
  }

  std::unique_ptr<runtime::Prepared> prepare(std::shared_ptr<const plan::Program> program,
                                             std::span<const memory::PageHandle> pages) override {
    plan::Program changed = *program;
    std::vector<memory::PageHandle> bound(pages.begin(), pages.end());
    if (bug_ == Bug::upload_first) uploads_first(changed);
    if (bug_ == Bug::wrong_slice_offset) shift_a_binding(changed);
    if (bug_ == Bug::stale_bind_group) bind_stale(changed, bound);
    return real_->prepare(std::make_shared<const plan::Program>(std::move(changed)), bound);
  }

  std::unique_ptr<runtime::Encoded> encode(runtime::Prepared& prepared,
                                           const runtime::Submission& submission,
                                           void* into) override {
    return real_->encode(prepared, submission, into);
  }
  runtime::Ticket submit(std::unique_ptr<runtime::Encoded> encoded) override {
    return real_->submit(std::move(encoded));
  }
  runtime::Ticket poll() override { return real_->poll(); }
  void wait(runtime::Ticket ticket) override { real_->wait(ticket); }
  void map(memory::PageHandle page) override { real_->map(page); }
  void wait_mapped(memory::PageHandle page) override { real_->wait_mapped(page); }
  [[nodiscard]] runtime::HostState host_state(memory::PageHandle page) const override {
    return real_->host_state(page);
  }
  std::byte* host_data(memory::PageHandle page) override { return real_->host_data(page); }
  void unmap(memory::PageHandle page) override { real_->unmap(page); }
  [[nodiscard]] std::optional<std::string> lost() const override { return real_->lost(); }

 private:
  struct Seen {
    memory::PageHandle page;
    Bytes bytes = 0;
  };

  static void uploads_first(plan::Program& program) {
    std::ranges::stable_partition(program.commands, [](const plan::Command& command) {
      return command.kind == plan::CommandKind::upload;
    });
    program.level_ends.clear();
    for (std::uint32_t i = 0; i < program.commands.size(); ++i) {
      program.level_ends.push_back(i + 1);
    }
  }

  void shift_a_binding(plan::Program& program) const {
    const Bytes step = std::max<Bytes>(capabilities_.limits.offset_alignment, 4);
    for (const plan::Command& command : program.commands) {
      if (command.kind != plan::CommandKind::dispatch || command.binding_count == 0) continue;
      plan::ProgramBinding& binding = program.bindings[command.first_binding];
      if (writes(binding.access) || binding.offset < step) continue;
      binding.offset -= step;
      return;
    }
  }

  // The page that stood for the first read of a dispatch last time, if it is large enough.
  void bind_stale(const plan::Program& program, std::vector<memory::PageHandle>& pages) {
    for (std::size_t p = 0; p < pages.size(); ++p) {
      const bool written = std::ranges::any_of(program.bindings, [p](const auto& binding) {
        return binding.page.index() == p && writes(binding.access);
      });
      const memory::PageHandle now = pages[p];
      if (!written) {
        for (const Seen& seen : seen_) {
          if (seen.bytes < program.pages[p].bytes) continue;
          if (std::ranges::find(pages, seen.page) != pages.end()) continue;
          pages[p] = seen.page;
          break;
        }
      }
      seen_.push_back({now, program.pages[p].bytes});
    }
  }

  Bug bug_;
  std::unique_ptr<runtime::Backend> real_;
  runtime::Capabilities capabilities_;
  std::vector<Seen> seen_;
};

/// A planner that does not count the last use of one version that is used at least twice.
std::variant<plan::Plan, plan::NoPlan> plan_with_short_life(const plan::Problem& problem,
                                                            const plan::Options& options) {
  plan::Problem shorter = problem;
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (problem.versions[v].outlives || problem.versions[v].fixed) continue;
    std::vector<std::uint32_t> tasks;
    for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) {
      const plan::Task& task = problem.tasks[t];
      for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
        if (problem.uses[u].version.index() == v && (tasks.empty() || tasks.back() != t)) {
          tasks.push_back(t);
        }
      }
    }
    if (tasks.size() < 2) continue;
    const plan::Task& last = problem.tasks[tasks.back()];
    for (std::uint32_t u = last.first_use; u < last.first_use + last.use_count; ++u) {
      if (shorter.uses[u].version.index() != v) continue;
      const plan::Use& other =
          shorter.uses[u == last.first_use ? last.first_use + last.use_count - 1 : last.first_use];
      if (other.version.index() != v) shorter.uses[u] = {other.version, other.access, {}};
    }
  }
  shorter.goal.order = plan::Order::program;
  return plan::place(shorter, options);
}

}  // namespace

Bug bug_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end())
    throw std::runtime_error("There is no planted bug '" + std::string(name) + "'.");
  return static_cast<Bug>(found - kNames.begin());
}

std::span<const std::string_view> bug_names() { return kNames; }

Client connect_with(Bug bug, const ConnectOptions& options) {
  auto backend = runtime::make_backend(options);
  if (bug == Bug::none) return connect(options);
  auto core = std::make_shared<client::Core>(
      options, std::make_unique<BuggyBackend>(bug, std::move(backend)));
  client::Seams seams;
  if (bug == Bug::lifetime_short) seams.planner = plan_with_short_life;
  seams.orders_streams = bug != Bug::streams_not_ordered;
  core->set_seams(seams);
  return Client(std::move(core));
}

}  // namespace berth::fuzz
