// SPDX-License-Identifier: Apache-2.0
//
// Judges one task: runs it twice (at times three times) on guarded copies, finds what its kernel
// must not do, and writes the result to the pages only if there is nothing. One thread at a time.
#pragma once

#include "runtime/reference/guarded_run.hpp"
#include "runtime/reference/undo_log.hpp"
#include "runtime/reference/worker_pool.hpp"

namespace berth::runtime::reference {

class StrictJudge {
 public:
  /// `threads` > 1: the two runs share the time, not the memory.
  explicit StrictJudge(std::uint32_t threads) : workers_(std::min(threads, 2U)) {}

  /// Runs the task; its outputs are in the pages then, saved in `undo` before.
  ///
  /// Undefined bytes: a read_write range may hold bytes that nobody wrote, and a kernel may read
  /// them; what depends on them alone is undefined too, and no finding.
  /// Errors: Error(kernel): a write outside a binding, a write through a read binding, a byte of a
  ///   write range that is not overwritten, an output that depends on bytes nobody wrote or that
  ///   are not bound; what the kernel throws. Nothing reached a page.
  void run(const StrictTask& task, UndoLog& undo);

 private:
  void check_run(const StrictTask& task, const GuardedRun& run) const;
  void check_promises(const StrictTask& task) const;
  void check_differences(const StrictTask& task);
  void store(const StrictTask& task, UndoLog& undo) const;

  WorkerPool workers_;
  GuardedRun first_;
  GuardedRun second_;
};

}  // namespace berth::runtime::reference
