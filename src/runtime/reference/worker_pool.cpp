// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/worker_pool.hpp"

#include <algorithm>

namespace berth::runtime::reference {

WorkerPool::WorkerPool(std::uint32_t threads) {
  for (std::uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this] { help(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run_parts(std::uint64_t count, Part part, const void* context) {
  if (count <= 1 || threads_.empty()) {
    if (count != 0) part(context, 0, count);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    part_ = part;
    context_ = context;
    count_ = count;
    // A few parts per thread: uneven work evens out, and the counter is rarely touched.
    step_ = std::max<std::uint64_t>(1, count / ((threads_.size() + 1) * 4));
    next_.store(0, std::memory_order_relaxed);
    helping_ = threads_.size();
    ++round_;
  }
  start_.notify_all();
  work();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return helping_ == 0; });
}

void WorkerPool::work() {
  for (;;) {
    const std::uint64_t begin = next_.fetch_add(step_, std::memory_order_relaxed);
    if (begin >= count_) return;
    part_(context_, begin, std::min(begin + step_, count_));
  }
}

void WorkerPool::help() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    work();
    lock.lock();
    if (--helping_ == 0) finished_.notify_one();
  }
}

}  // namespace berth::runtime::reference
