// SPDX-License-Identifier: Apache-2.0
#include "client/build_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

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
        page_of_(plan.pages.size()),
        in_place_(repaired.problem.tasks.size(), 0) {}

  BuiltProgram build() {
    out_.program.labels.assign(window_.labels().begin(), window_.labels().end());
    out_.program.labels.emplace_back("repair copy");
    for (const Kernel& kernel : window_.kernels()) {
      layouts_.push_back(layout_for(device_.target, kernel.signature().uniforms));
    }
    for (const std::uint32_t taken : plan_.in_place) {
      const plan::InPlacePair& pair = problem_.in_place[taken];
      in_place_[pair.task.index()] |= pair.choice;
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
        dispatch(command, recorded, id);
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

  void dispatch(plan::Command& command, const RecordedTask& recorded, plan::TaskId id) {
    const Kernel& kernel = window_.kernels()[recorded.kernel];
    const KernelSignature& signature = kernel.signature();
    const bool promoted = problem_.tasks[id.index()].promoted;
    const std::uint32_t pairs = in_place_[id.index()];
    const Variant variant = pairs != 0 ? Variant::in_place
                            : promoted ? Variant::promoted
                                       : Variant::plain;
    command.kernel = program_kernel(recorded.kernel, variant, pairs);
    if (recorded.indirect) {
      command.kind = plan::CommandKind::indirect;
    } else {
      command.grid = static_cast<std::uint32_t>(out_.grids.size());
      out_.grids.push_back(recorded.grid);
    }
    const auto uses = window_.uses_of(recorded);
    first_elements_.assign(signature.bindings.size(), 0);
    std::uint32_t empty_writes = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const bool argument = i == signature.bindings.size();
      if (!argument && left_out(signature, pairs, i)) {
        ++next_use_;
      } else if (!uses[i].range.empty()) {
        bind_next_use(promoted && !argument);
        if (!argument) align_binding(signature.bindings[i], i);
      } else if (writes(uses[i].access) || promoted) {
        bind_dummy(signature.bindings[i], true, empty_writes++);
      } else {
        bind_dummy(signature.bindings[i], false, 0);
      }
    }
    pack(command, recorded, signature);
  }

  static bool left_out(const KernelSignature& signature, std::uint32_t pairs, std::size_t binding) {
    for (std::size_t p = 0; p < signature.in_place.size(); ++p) {
      if ((pairs >> p & 1U) != 0 &&
          signature.in_place[p].input == signature.bindings[binding].name) {
        return true;
      }
    }
    return false;
  }

  std::uint32_t program_kernel(std::uint32_t kernel, Variant variant, std::uint32_t pairs) {
    const auto [found, is_new] = forms_.try_emplace(std::tuple(kernel, variant, pairs),
                                                    static_cast<std::uint32_t>(forms_.size()));
    if (is_new) out_.program.kernels.push_back({window_.kernels()[kernel], variant, pairs});
    return found->second;
  }

  void bind_next_use(bool promoted = false) {
    const plan::Use& use = problem_.uses[next_use_++];
    const plan::Place& place = plan_.places[use.version.index()];
    out_.program.bindings.push_back({program_page(place.page), place.offset + use.range.offset,
                                     use.range.bytes, promoted ? Access::read_write : use.access,
                                     0});
  }

  // A kernel that is told its first element may be bound from the aligned offset before it on.
  void align_binding(const BindingSignature& signature, std::size_t index) {
    plan::ProgramBinding& binding = out_.program.bindings.back();
    if (device_.unaligned_bindings) return;
    binding.base = binding.offset % device_.limits.offset_alignment;
    binding.offset -= binding.base;
    binding.bytes += binding.base;
    first_elements_[index] = static_cast<std::uint32_t>(binding.base / bytes_of(signature.element));
  }

  // Empty tensors that are written must not meet: each has an aligned place of its own.
  void bind_dummy(const BindingSignature& binding, bool written, std::uint32_t index) {
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
    out_.program.bindings.push_back(
        {*page, index * stride, bytes, written ? Access::read_write : Access::read, 0});
  }

  void pack(plan::Command& command, const RecordedTask& recorded,
            const KernelSignature& signature) {
    const UniformLayout& layout = layouts_[recorded.kernel];
    if (layout.bytes == 0) return;
    scratch_.clear();
    auto value = window_.words_of(recorded).begin();
    for (const UniformField& field : signature.uniforms) {
      if (field.builtin == Builtin::first_element) {
        scratch_.push_back(first_elements_[binding_index(signature, field.binding)]);
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

  static std::size_t binding_index(const KernelSignature& signature, const std::string& name) {
    const auto found = std::ranges::find(signature.bindings, name, &BindingSignature::name);
    return static_cast<std::size_t>(found - signature.bindings.begin());
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
  std::vector<std::uint32_t> in_place_;  // per task: the pairs taken
  std::map<std::tuple<std::uint32_t, Variant, std::uint32_t>, std::uint32_t> forms_;
  std::vector<std::uint32_t> scratch_;
  std::vector<std::uint32_t> first_elements_;
  std::uint32_t next_use_ = 0;
  BuiltProgram out_;
};

}  // namespace

BuiltProgram build_program(const Window& window, const plan::Repaired& repaired,
                           const plan::Plan& plan, const runtime::Capabilities& device) {
  return Builder(window, repaired, plan, device).build();
}

}  // namespace berth::client
