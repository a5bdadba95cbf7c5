// SPDX-License-Identifier: Apache-2.0
#include "client/build_program.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/uniform_layout.hpp"
#include "client/interval_set.hpp"

namespace berth::client {

namespace {

plan::CommandKind command_kind(plan::TaskKind kind) {
  switch (kind) {
    case plan::TaskKind::copy:
      return plan::CommandKind::copy;
    case plan::TaskKind::fill:
      return plan::CommandKind::fill;
    case plan::TaskKind::upload:
      return plan::CommandKind::upload;
    case plan::TaskKind::readback:
      return plan::CommandKind::readback;
    case plan::TaskKind::foreign:
      return plan::CommandKind::foreign;
    case plan::TaskKind::dispatch:
      break;
  }
  return plan::CommandKind::dispatch;
}

/// Cuts the command sequence into runs without hazards between their commands.
class LevelCutter {
 public:
  explicit LevelCutter(plan::Program& program) : program_(program), pages_(program.pages.size()) {}

  void cut() {
    for (std::uint32_t i = 0; i < program_.commands.size(); ++i) {
      if (depends(program_.commands[i])) {
        program_.level_ends.push_back(i);
        for (Touched& page : pages_) {
          page.read.clear();
          page.written.clear();
        }
      }
      touch(program_.commands[i]);
    }
    if (!program_.commands.empty()) {
      program_.level_ends.push_back(static_cast<std::uint32_t>(program_.commands.size()));
    }
  }

 private:
  struct Touched {
    IntervalSet read;
    IntervalSet written;
  };

  [[nodiscard]] std::span<const plan::ProgramBinding> bindings(const plan::Command& c) const {
    return std::span(program_.bindings).subspan(c.first_binding, c.binding_count);
  }
  [[nodiscard]] bool depends(const plan::Command& command) const {
    return std::ranges::any_of(bindings(command), [this](const plan::ProgramBinding& b) {
      const Touched& page = pages_[b.page.index()];
      const Range range{b.offset, b.bytes};
      return page.written.meets(range) || (writes(b.access) && page.read.meets(range));
    });
  }
  void touch(const plan::Command& command) {
    for (const plan::ProgramBinding& b : bindings(command)) {
      Touched& page = pages_[b.page.index()];
      (writes(b.access) ? page.written : page.read).add({b.offset, b.bytes});
    }
  }

  plan::Program& program_;
  std::vector<Touched> pages_;
};

class Builder {
 public:
  Builder(const Window& window, const plan::Repaired& repaired, const plan::Plan& plan,
          const runtime::Capabilities& device)
      : window_(window),
        problem_(repaired.problem),
        original_(repaired.original),
        plan_(plan),
        device_(device),
        page_of_(plan.pages.size()) {}

  BuiltProgram build() {
    out_.program.labels.assign(window_.labels().begin(), window_.labels().end());
    out_.program.labels.emplace_back("repair copy");
    for (const Kernel& kernel : window_.kernels()) {
      out_.program.kernels.push_back({kernel, Variant::plain, 0});
      layouts_.push_back(layout_for(device_.target, kernel.signature().uniforms));
    }
    for (const plan::TaskId id : plan_.order) add(id);
    out_.program.uploads = static_cast<std::uint32_t>(window_.uploads().size());
    out_.program.readbacks = window_.readbacks();
    out_.program.grids = static_cast<std::uint32_t>(out_.grids.size());
    out_.program.uniform_bytes = out_.uniforms.size();
    LevelCutter(out_.program).cut();
    return std::move(out_);
  }

 private:
  void add(plan::TaskId id) {
    const plan::Task& task = problem_.tasks[id.index()];
    next_use_ = task.first_use;
    plan::Command command;
    command.kind = command_kind(task.kind);
    command.first_binding = static_cast<std::uint32_t>(out_.program.bindings.size());
    const plan::TaskId original = original_[id.index()];
    if (!original.valid()) {
      command.label = static_cast<std::uint32_t>(out_.program.labels.size() - 1);
      for (std::uint32_t i = 0; i < task.use_count; ++i) bind_next_use();
    } else {
      const RecordedTask& recorded = window_.tasks()[original.index()];
      command.label = recorded.label;
      command.slot = recorded.slot;
      if (task.kind == plan::TaskKind::dispatch) {
        dispatch(command, recorded);
      } else {
        for (const RecordedUse& use : window_.uses_of(recorded)) {
          if (!use.range.empty()) bind_next_use();
        }
      }
    }
    command.binding_count =
        static_cast<std::uint32_t>(out_.program.bindings.size()) - command.first_binding;
    out_.program.commands.push_back(command);
  }

  void dispatch(plan::Command& command, const RecordedTask& recorded) {
    const KernelSignature& signature = window_.kernels()[recorded.kernel].signature();
    command.kernel = recorded.kernel;
    command.grid = static_cast<std::uint32_t>(out_.grids.size());
    out_.grids.push_back(recorded.grid);
    const auto uses = window_.uses_of(recorded);
    std::uint32_t empty_writes = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].range.empty()) {
        bind_next_use();
      } else if (writes(uses[i].access)) {
        bind_dummy(signature.bindings[i], empty_writes++);
      } else {
        bind_dummy(signature.bindings[i], 0);
      }
    }
    pack(command, recorded, signature);
  }

  void bind_next_use() {
    const plan::Use& use = problem_.uses[next_use_++];
    const plan::Place& place = plan_.places[use.version.index()];
    out_.program.bindings.push_back({program_page(place.page), place.offset + use.range.offset,
                                     use.range.bytes, use.access, 0});
  }

  // Empty tensors that are written must not meet: each has an aligned place of its own.
  void bind_dummy(const BindingSignature& binding, std::uint32_t index) {
    const bool written = writes(binding.access);
    std::optional<plan::PageId>& page = written ? dummy_write_ : dummy_read_;
    const Bytes bytes = align_up(Bytes{binding.least_elements} * bytes_of(binding.element), 4);
    const Bytes stride = align_up(std::max(bytes, Bytes{64}), device_.limits.offset_alignment);
    if (!page) {
      page = add_page(
          {0, plan::PoolId{}},
          {written ? PageSource::Kind::dummy_write : PageSource::Kind::dummy_read, plan::PageId{}});
    }
    plan::ProgramPage& symbolic = out_.program.pages[page->index()];
    symbolic.bytes = std::max(symbolic.bytes, index * stride + bytes);
    out_.program.bindings.push_back({*page, index * stride, bytes, binding.access, 0});
  }

  void pack(plan::Command& command, const RecordedTask& recorded,
            const KernelSignature& signature) {
    const UniformLayout& layout = layouts_[recorded.kernel];
    if (layout.bytes == 0) return;
    scratch_.clear();
    auto value = window_.words_of(recorded).begin();
    for (const UniformField& field : signature.uniforms) {
      if (field.builtin == Builtin::first_element) {
        scratch_.push_back(first_element(command, signature, field));
      } else {
        scratch_.insert(scratch_.end(), value, value + field.components);
        value += field.components;
      }
    }
    command.uniform_offset = align_up(out_.uniforms.size(), device_.limits.uniform_alignment);
    command.uniform_bytes = layout.bytes;
    out_.uniforms.resize(static_cast<std::size_t>(command.uniform_offset + layout.bytes));
    pack_uniforms(layout, signature.uniforms, scratch_,
                  out_.uniforms.data() + command.uniform_offset);
  }

  [[nodiscard]] std::uint32_t first_element(const plan::Command& command,
                                            const KernelSignature& signature,
                                            const UniformField& field) const {
    for (std::size_t i = 0; i < signature.bindings.size(); ++i) {
      if (signature.bindings[i].name != field.binding) continue;
      const plan::ProgramBinding& b = out_.program.bindings[command.first_binding + i];
      return static_cast<std::uint32_t>(b.base / bytes_of(signature.bindings[i].element));
    }
    return 0;
  }

  plan::PageId program_page(plan::PageId planned) {
    std::optional<plan::PageId>& page = page_of_[planned.index()];
    if (!page) {
      const plan::PlannedPage& p = plan_.pages[planned.index()];
      page = add_page({p.bytes, p.pool}, {PageSource::Kind::planned, planned});
    }
    return *page;
  }

  plan::PageId add_page(plan::ProgramPage page, PageSource source) {
    out_.program.pages.push_back(page);
    out_.page_sources.push_back(source);
    return plan::PageId(static_cast<std::uint32_t>(out_.program.pages.size() - 1));
  }

  const Window& window_;
  const plan::Problem& problem_;
  const std::vector<plan::TaskId>& original_;
  const plan::Plan& plan_;
  const runtime::Capabilities& device_;
  std::vector<std::optional<plan::PageId>> page_of_;
  std::optional<plan::PageId> dummy_read_;
  std::optional<plan::PageId> dummy_write_;
  std::vector<UniformLayout> layouts_;
  std::vector<std::uint32_t> scratch_;
  std::uint32_t next_use_ = 0;
  BuiltProgram out_;
};

}  // namespace

BuiltProgram build_program(const Window& window, const plan::Repaired& repaired,
                           const plan::Plan& plan, const runtime::Capabilities& device) {
  return Builder(window, repaired, plan, device).build();
}

}  // namespace berth::client
