// SPDX-License-Identifier: Apache-2.0
//
// A loop over indices on several threads, the calling one included. Idle threads sleep. One run()
// at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::runtime::reference {

class WorkerPool {
 public:
  /// `threads` in all; 1 = the calling one alone.
  explicit WorkerPool(std::uint32_t threads);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Calls body(begin, end) for disjoint parts of [0, count) and returns when all are done.
  /// Precondition: body does not throw.
  template <class Body>
  void run(std::uint64_t count, const Body& body) {
    run_parts(
        count,
        [](const void* context, std::uint64_t begin, std::uint64_t end) {
          (*static_cast<const Body*>(context))(begin, end);
        },
        &body);
  }

 private:
  using Part = void (*)(const void* context, std::uint64_t begin, std::uint64_t end);
  void run_parts(std::uint64_t count, Part part, const void* context);
  void work();
  void help();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  std::uint64_t round_ = 0;  // under mutex_
  std::size_t helping_ = 0;  // under mutex_
  bool stop_ = false;        // under mutex_
  Part part_ = nullptr;      // constant during a round
  const void* context_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t step_ = 1;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace berth::runtime::reference
