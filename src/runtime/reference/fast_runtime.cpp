// SPDX-License-Identifier: Apache-2.0
//
// The fast CPU runtime: one thread runs submissions in order and shares each dispatch's workgroups
// with the worker pool. Without threads everything happens inside submit().
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "berth/error.hpp"
#include "runtime/reference/capabilities.hpp"
#include "runtime/reference/cpu_backend.hpp"
#include "runtime/reference/reference_runtime.hpp"
#include "runtime/reference/worker_pool.hpp"

namespace berth::runtime {

namespace reference {
namespace {

using plan::Command;
using plan::CommandKind;

/// Runs jobs, one after another. A task that throws leaves its outputs as they are; the first
/// message is kept, and the tasks after it still run, as they would on a device.
class FastRunner {
 public:
  FastRunner(std::uint32_t threads, std::uint32_t most_groups)
      : workers_(threads), most_groups_(most_groups) {}

  [[nodiscard]] std::optional<std::string> run(const Job& job) {
    failure_.reset();
    for (const Command& command : job.bound->program->commands) {
      try {
        run_command(job, command);
      } catch (const std::exception& error) {
        fail(job, command, error.what());
      } catch (...) {
        fail(job, command, "an exception of an unknown type");
      }
    }
    return std::exchange(failure_, std::nullopt);
  }

 private:
  void fail(const Job& job, const Command& command, const std::string& why) {
    const std::scoped_lock lock(failure_mutex_);
    if (failure_) return;
    failure_ = task_name(*job.bound->program, command.label) + " failed: " + why;
  }

  static std::byte* address(const Job& job, const plan::ProgramBinding& binding) {
    return job.bound->pages[binding.page.index()]->data + binding.offset;
  }

  void run_command(const Job& job, const Command& command) {
    const plan::Program& program = *job.bound->program;
    const auto bindings = bindings_of(program, command);
    switch (command.kind) {
      case CommandKind::dispatch:
      case CommandKind::indirect:
        dispatch(job, command);
        break;
      case CommandKind::copy:
        std::memmove(address(job, bindings[1]), address(job, bindings[0]), bindings[0].bytes);
        break;
      case CommandKind::fill:
        std::memset(address(job, bindings[0]), 0, bindings[0].bytes);
        break;
      case CommandKind::upload:
        std::memcpy(address(job, bindings[0]), job.uploads[command.slot], bindings[0].bytes);
        break;
      case CommandKind::readback:
        std::memcpy(job.readbacks[command.slot], address(job, bindings[0]), bindings[0].bytes);
        break;
      case CommandKind::foreign:
        job.foreign[command.slot](nullptr, foreign_views(*job.bound, command));
        break;
    }
  }

  void dispatch(const Job& job, const Command& command) {
    const plan::Program& program = *job.bound->program;
    const auto bindings = bindings_of(program, command);
    const KernelForm& form = job.bound->forms[command.kernel];
    std::array<CpuBuffer, kMostBindings> bound{};
    for (std::size_t i = 0; i < form.signature_of_binding.size(); ++i) {
      bound[i] = {address(job, bindings[i]), bindings[i].bytes};
    }
    if (command.kind == CommandKind::indirect) {
      const Grid grid = indirect_grid(address(job, bindings.back()), most_groups_);
      launch(job, command, form, bound, grid, uniforms_of(job, command, command.uniform_offset));
    } else if (command.batch_count == 0) {
      launch(job, command, form, bound, job.grids[command.grid],
             uniforms_of(job, command, command.uniform_offset));
    }
    for (const plan::BatchEntry& entry :
         std::span(program.batch).subspan(command.first_batch, command.batch_count)) {
      std::array<CpuBuffer, kMostBindings> part{};
      for (std::size_t i = 0; i < bindings.size(); ++i) {
        const Range range = program.batch_ranges[entry.first_range + i];
        part[i] = {bound[i].data + range.offset, range.bytes};
      }
      launch(job, command, form, part, job.grids[entry.grid],
             uniforms_of(job, command, entry.uniform_offset));
    }
  }

  void launch(const Job& job, const Command& command, const KernelForm& form,
              const std::array<CpuBuffer, kMostBindings>& bound, Grid grid,
              std::span<const std::byte> uniforms) {
    std::array<CpuBuffer, kMostBindings> buffers{};
    for (std::size_t i = 0; i < form.binding_of_buffer.size(); ++i) {
      buffers[i] = bound[form.binding_of_buffer[i]];
    }
    const std::span<const CpuBuffer> views(buffers.data(), form.binding_of_buffer.size());
    const std::array<std::uint32_t, 3> groups{grid.x, grid.y, grid.z};
    workers_.run(grid.count(), [&](std::uint64_t begin, std::uint64_t end) {
      try {
        for (std::uint64_t index = begin; index < end; ++index) {
          const auto x = static_cast<std::uint32_t>(index % grid.x);
          const auto y = static_cast<std::uint32_t>(index / grid.x % grid.y);
          const auto z = static_cast<std::uint32_t>(index / grid.x / grid.y);
          form.function(CpuInvocation(views, uniforms, {x, y, z}, groups));
        }
      } catch (const std::exception& error) {
        fail(job, command, error.what());
      } catch (...) {
        fail(job, command, "an exception of an unknown type");
      }
    });
  }

  WorkerPool workers_;
  std::uint32_t most_groups_;
  std::mutex failure_mutex_;
  std::optional<std::string> failure_;
};

class FastRuntime final : public CpuBackend {
 public:
  explicit FastRuntime(const ConnectOptions& options)
      : CpuBackend(fast_capabilities(options), Fill::zeros),
        runner_(thread_count(options), limits().max_groups_per_dimension) {
    if (options.threads == Threads::allowed) {
      thread_ = std::thread([this] { run_jobs(); });
    }
  }
  FastRuntime(const FastRuntime&) = delete;
  FastRuntime& operator=(const FastRuntime&) = delete;
  /// Submitted work is finished first.
  ~FastRuntime() override {
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void run(std::unique_ptr<Job> job) override {
    if (!thread_.joinable()) {
      settle(job->ticket, runner_.run(*job));
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
  }

  [[nodiscard]] std::uint64_t done() const noexcept override {
    return done_.load(std::memory_order_acquire);
  }

  void finish(std::uint64_t ticket) noexcept override {
    if (done() >= ticket) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done() >= ticket; });
  }

  void throw_failure() override {
    std::optional<std::string> failure;
    {
      const std::scoped_lock lock(mutex_);
      failure.swap(failure_);
    }
    if (failure) throw Error(ErrorCode::device, "On the CPU " + *failure);
  }

  void run_jobs() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::unique_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      std::optional<std::string> failure = runner_.run(*job);
      const std::uint64_t ticket = job->ticket;
      job.reset();  // what it held is let go before anybody sees that it is done
      settle(ticket, std::move(failure));
      lock.lock();
    }
  }

  void settle(std::uint64_t ticket, std::optional<std::string> failure) {
    {
      const std::scoped_lock lock(mutex_);
      if (failure && !failure_) failure_ = std::move(failure);
      done_.store(ticket, std::memory_order_release);
    }
    changed_.notify_all();
  }

  FastRunner runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> jobs_;  // under mutex_
  std::optional<std::string> failure_;     // under mutex_
  bool stop_ = false;                      // under mutex_
  std::atomic<std::uint64_t> done_{0};
  std::thread thread_;
};

}  // namespace
}  // namespace reference

std::unique_ptr<Backend> make_reference(const ConnectOptions& options) {
  return std::make_unique<reference::FastRuntime>(options);
}

}  // namespace berth::runtime
