// SPDX-License-Identifier: Apache-2.0
//
// The strict CPU runtime: runs each submission inside submit(), task by task, all or nothing. Which
// bytes somebody wrote is kept per page and follows uploads, fills, copies and kernels.
#include <algorithm>
#include <cstring>

#include "berth/error.hpp"
#include "runtime/reference/capabilities.hpp"
#include "runtime/reference/cpu_backend.hpp"
#include "runtime/reference/reference_runtime.hpp"
#include "runtime/reference/strict_rules.hpp"
#include "runtime/reference/strict_task.hpp"

namespace berth::runtime {

namespace reference {
namespace {

using plan::Command;
using plan::CommandKind;

class StrictRuntime final : public CpuBackend {
 public:
  explicit StrictRuntime(const ConnectOptions& options)
      : CpuBackend(strict_capabilities(options), Fill::poison), judge_(thread_count(options)) {}

 private:
  void check_program(const BoundProgram& bound) const override { check_rules(bound, limits()); }
  void check_job(const Job& job) const override { check_rules(job, limits()); }
  [[nodiscard]] std::uint64_t done() const noexcept override {
    return done_.load(std::memory_order_acquire);
  }

  // Work is done when submit() returns, but shows only once somebody polls or waits, as on a
  // device: who counts on more is found out here.
  void notice() noexcept override {
    done_.store(finished_.load(std::memory_order_acquire), std::memory_order_release);
  }
  void finish(std::uint64_t ticket) noexcept override {
    if (done() < ticket) notice();
  }

  void run(std::unique_ptr<Job> job) override {
    try {
      for (const Command& command : job->bound->program->commands) run_command(*job, command);
    } catch (...) {
      undo_.undo();
      throw;
    }
    undo_.clear();
    finished_.store(job->ticket, std::memory_order_release);
  }

  static PageMemory& page(const Job& job, const plan::ProgramBinding& binding) {
    return *job.bound->pages[binding.page.index()];
  }
  static std::byte* address(const Job& job, const plan::ProgramBinding& binding) {
    return page(job, binding).data + binding.offset;
  }
  static std::uint8_t* written(const Job& job, const plan::ProgramBinding& binding) {
    return page(job, binding).written.data() + binding.offset;
  }

  void run_command(const Job& job, const Command& command) {
    const auto bindings = bindings_of(*job.bound->program, command);
    switch (command.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        dispatch(job, command);
        break;
      case CommandKind::copy:
        save(job, bindings[1]);
        std::memmove(address(job, bindings[1]), address(job, bindings[0]), bindings[0].bytes);
        std::memmove(written(job, bindings[1]), written(job, bindings[0]), bindings[0].bytes);
        break;
      case CommandKind::fill:
        save(job, bindings[0]);
        std::memset(address(job, bindings[0]), 0, bindings[0].bytes);
        std::memset(written(job, bindings[0]), 1, bindings[0].bytes);
        break;
      case CommandKind::upload:
        save(job, bindings[0]);
        std::memcpy(address(job, bindings[0]), job.uploads[command.slot], bindings[0].bytes);
        std::memset(written(job, bindings[0]), 1, bindings[0].bytes);
        break;
      case CommandKind::readback:
        std::memcpy(job.readbacks[command.slot], address(job, bindings[0]), bindings[0].bytes);
        break;
      case CommandKind::foreign:
        for (const plan::ProgramBinding& binding : bindings) {
          if (writes(binding.access)) save(job, binding);
        }
        job.foreign[command.slot](nullptr, foreign_views(*job.bound, command));
        for (const plan::ProgramBinding& binding : bindings) {
          if (writes(binding.access)) std::memset(written(job, binding), 1, binding.bytes);
        }
        break;
    }
  }

  void save(const Job& job, const plan::ProgramBinding& binding) {
    undo_.save(page(job, binding), {binding.offset, binding.bytes});
  }

  void dispatch(const Job& job, const Command& command) {
    const plan::Program& program = *job.bound->program;
    StrictTask task = task_of(job, command);
    task.uniforms = uniforms_of(job, command, command.uniform_offset);
    if (command.kind == CommandKind::indirect) {
      const plan::ProgramBinding& counts = bindings_of(program, command).back();
      if (std::memchr(written(job, counts), 0, 12) != nullptr) {
        throw Error(ErrorCode::kernel, "The workgroup counts of " + task.name +
                                           " are bytes that nobody wrote: write them first.");
      }
      task.grid = indirect_grid(address(job, counts), limits().max_groups_per_dimension);
      judge_.run(task, undo_);
      return;
    }
    if (command.batch_count == 0) {
      task.grid = job.grids[command.grid];
      judge_.run(task, undo_);
      return;
    }
    const StrictTask hull = task;
    for (const plan::BatchEntry& entry :
         std::span(program.batch).subspan(command.first_batch, command.batch_count)) {
      for (std::size_t i = 0; i < task.bindings.size(); ++i) {
        const Range range = program.batch_ranges[entry.first_range + i];
        task.bindings[i].offset = hull.bindings[i].offset + range.offset;
        task.bindings[i].bytes = range.bytes;
        task.bindings[i].base = 0;
      }
      task.name = name_of_task(program, command, entry.label);
      task.uniforms = uniforms_of(job, command, entry.uniform_offset);
      task.grid = job.grids[entry.grid];
      judge_.run(task, undo_);
    }
  }

  static std::string name_of_task(const plan::Program& program, const Command& command,
                                  std::uint32_t label) {
    return "kernel '" + program.kernels[command.kernel].kernel.name() + "' (" +
           task_name(program, label) + ")";
  }

  static StrictTask task_of(const Job& job, const Command& command) {
    const plan::Program& program = *job.bound->program;
    const auto bindings = bindings_of(program, command);
    StrictTask task;
    task.form = &job.bound->forms[command.kernel];
    task.name = name_of_task(program, command, command.label);
    const KernelSignature& signature = program.kernels[command.kernel].kernel.signature();
    for (std::size_t i = 0; i < task.form->signature_of_binding.size(); ++i) {
      const plan::ProgramBinding& binding = bindings[i];
      const BindingSignature& declared = signature.bindings[task.form->signature_of_binding[i]];
      // Declared write but bound read_write is no promise: a stand-in for an empty tensor, say.
      Access access = task.form->access_of_binding[i];
      const bool promoted = program.kernels[command.kernel].variant == Variant::promoted;
      if (access == Access::write && !promoted) access = binding.access;
      task.bindings.push_back({&page(job, binding), binding.offset, binding.bytes, binding.base,
                               access, bytes_of(declared.element), declared.name});
    }
    return task;
  }

  StrictJudge judge_;
  UndoLog undo_;
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> done_{0};  // as far as it was noticed
};

}  // namespace
}  // namespace reference

std::unique_ptr<Backend> make_reference_strict(const ConnectOptions& options) {
  return std::make_unique<reference::StrictRuntime>(options);
}

}  // namespace berth::runtime
