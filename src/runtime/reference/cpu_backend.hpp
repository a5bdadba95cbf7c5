// SPDX-License-Identifier: Apache-2.0
//
// What both CPU runtimes share of a Backend: pages, kernels, binding programs. How a submission is
// run is theirs. Threads: as backend.hpp demands.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "runtime/reference/bound_program.hpp"

namespace berth::runtime::reference {

class CpuBackend : public Backend {
 public:
  CpuBackend(Capabilities capabilities, Fill fill)
      : capabilities_(std::move(capabilities)), pages_(fill) {}

  [[nodiscard]] const Capabilities& capabilities() const final { return capabilities_; }

  [[nodiscard]] Made make_page(const memory::PageRequest& request) final;
  void free_page(memory::PageHandle page) noexcept final;
  [[nodiscard]] Bytes max_page_bytes() const final { return capabilities_.limits.max_page_bytes; }

  void compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) final;
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t in_place_pairs) const final;
  [[nodiscard]] std::unique_ptr<Prepared> prepare(std::shared_ptr<const plan::Program> program,
                                                  std::span<const memory::PageHandle> pages) final;
  [[nodiscard]] std::unique_ptr<Encoded> encode(Prepared& prepared, const Submission& submission,
                                                void* into) final;
  [[nodiscard]] Ticket submit(std::unique_ptr<Encoded> encoded) final;

  void map(memory::PageHandle page) final { pages_.map(page); }
  void wait_mapped(memory::PageHandle page) final;
  [[nodiscard]] HostState host_state(memory::PageHandle page) const final {
    return pages_.host_state(page, done());
  }
  [[nodiscard]] std::byte* host_data(memory::PageHandle page) final {
    return pages_.host_data(page, done());
  }
  void unmap(memory::PageHandle page) final { pages_.unmap(page, done()); }

  void wait(Ticket ticket) final;
  [[nodiscard]] Ticket poll() final {
    notice();
    return Ticket{done()};
  }
  [[nodiscard]] std::optional<std::string> lost() const final { return std::nullopt; }

 protected:
  /// More rules for a program, when it is prepared.
  virtual void check_program(const BoundProgram& bound) const { static_cast<void>(bound); }
  /// More rules for a submission.
  virtual void check_job(const Job& job) const { static_cast<void>(job); }
  /// Runs the job, now or later, in the order of the calls. Throws: nothing of it was run.
  virtual void run(std::unique_ptr<Job> job) = 0;
  /// The last ticket that is done.
  [[nodiscard]] virtual std::uint64_t done() const noexcept = 0;
  /// Lets done() move on.
  virtual void notice() noexcept {}
  /// Returns once `ticket` is done.
  virtual void finish(std::uint64_t ticket) noexcept { static_cast<void>(ticket); }
  /// Throws what went wrong since it was last asked.
  virtual void throw_failure() {}

  [[nodiscard]] const Limits& limits() const { return capabilities_.limits; }

 private:
  Capabilities capabilities_;
  Pages pages_;
  CompiledForms forms_;
  std::atomic<std::uint64_t> submitted_{0};
};

}  // namespace berth::runtime::reference
