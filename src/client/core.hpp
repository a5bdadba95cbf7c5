// SPDX-License-Identifier: Apache-2.0
//
// One device and what stands around it: the backend, its memory, the tensors known to it, its
// streams, what was submitted.
// Threads: one lock for recording and submitting, taken by the verbs (lock()); functions that do
// not say otherwise are called with it held. No lock is held while the host waits for the device or
// user code runs. Handles are dropped without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "berth/error.hpp"
#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "berth/report.hpp"
#include "client/placement.hpp"
#include "client/read_state.hpp"
#include "client/tensor_state.hpp"
#include "client/window.hpp"
#include "memory/drop_queue.hpp"
#include "memory/host_pages.hpp"
#include "memory/manager.hpp"
#include "memory/storage.hpp"
#include "runtime/backend.hpp"

namespace berth::client {

class StreamState;

/// What the staging pools ask of the backend.
class BackendPages final : public memory::HostPages {
 public:
  explicit BackendPages(runtime::Backend& backend) : backend_(backend) {}
  // Comes after a submission, or in a destructor, where nothing may fail: a page of a lost device
  // is never mapped, and the next verb says that the device is lost.
  void map(memory::PageHandle page) override {
    try {
      backend_.map(page);
    } catch (const DeviceLost&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  bool mapped(memory::PageHandle page) override;
  void wait_mapped(memory::PageHandle page) override { backend_.wait_mapped(page); }
  std::byte* data(memory::PageHandle page) override { return backend_.host_data(page); }
  void unmap(memory::PageHandle page) override { backend_.unmap(page); }
  std::uint64_t completed() override { return backend_.poll().value; }

 private:
  runtime::Backend& backend_;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const ConnectOptions& options, std::unique_ptr<runtime::Backend> backend);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const ConnectOptions& options() const { return options_; }
  [[nodiscard]] const runtime::Capabilities& device() const { return backend_->capabilities(); }
  [[nodiscard]] runtime::Backend& backend() { return *backend_; }
  [[nodiscard]] memory::Manager& manager() { return *manager_; }
  /// For tests, which make it fail.
  [[nodiscard]] memory::Storage& storage() { return storage_; }
  void set_seams(Seams seams) { seams_ = std::move(seams); }
  [[nodiscard]] const Seams& seams() const { return seams_; }

  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] Lock lock() { return Lock(mutex_); }

  /// The default stream of the calling thread. Takes the lock the first time a thread asks.
  [[nodiscard]] StreamState& default_stream();
  /// A stream for one owner; give_stream() hands it back. Both take the lock.
  [[nodiscard]] StreamState& take_stream();
  void give_stream(StreamState& stream) noexcept;

  /// A tensor without memory. Takes no lock. Errors: Error(invalid_argument).
  [[nodiscard]] Handle make_tensor(
      Bytes bytes, TensorOptions options = {},
      std::source_location where = std::source_location::current()) const;
  /// Makes a tensor known to the server: from now on the server frees it.
  void adopt(TensorState& tensor);
  /// Frees the tensors whose last handle is gone and that no window holds.
  void drain_drops();
  /// Compiles a kernel's plain form once.
  void compile(const Kernel& kernel);
  [[nodiscard]] std::uint64_t next_window() { return ++window_serial_; }

  /// Plans, maps and submits a window. `reads` gets room for the window's readbacks.
  /// Errors: OutOfMemory, Error(too_large), Error(device), DeviceLost: nothing was submitted, the
  ///   window is as it was.
  void submit(const Window& window, ReadState* reads);
  /// Waits, without the lock, until all that was submitted so far is done.
  void wait_idle(Lock& lock);
  /// Waits, without the lock, until another window may be submitted.
  void wait_for_turn(Lock& lock);

  /// Copies data into upload staging. Returns: an invalid slice if the staging budget is used up:
  /// the caller submits its window and calls again. Errors: OutOfMemory.
  [[nodiscard]] memory::Slice stage(std::span<const std::byte> data);
  /// Waits, mostly without the lock, until staged data has left its pages.
  void wait_for_staging(Lock& lock);
  /// Submits the windows of all streams.
  void submit_all();
  /// True if the window's memory, with all that is reserved now, stays within `budget`. Makes
  /// nothing.
  [[nodiscard]] bool would_fit(const Window& window, Bytes budget);

  // Results. These take the lock themselves.

  /// True if all parts of a read have arrived or it failed.
  [[nodiscard]] bool arrived(ReadState& read);
  /// Waits without the lock.
  void wait(ReadState& read);
  void release(ReadState& read) noexcept;
  /// Calls `callback` once the read has arrived.
  void call_when_ready(std::shared_ptr<ReadState> read, std::function<void()> callback);
  /// Runs the callbacks of reads that have arrived. Called, without the lock, from every verb that
  /// may let events be noticed.
  void run_callbacks();
  /// The last reference to the client is gone: no callback runs any more.
  void forget_callbacks() noexcept;

  // These take the lock themselves.
  [[nodiscard]] Report report();
  [[nodiscard]] std::string last_plan();
  Bytes trim(Bytes keep);
  /// Throws DeviceLost if the device is gone.
  void check_device() const;

 private:
  struct Totals {
    std::uint64_t windows = 0;
    std::uint64_t tasks = 0;
    std::uint64_t relocations = 0;
    std::uint64_t bounces = 0;
    std::uint64_t promotions = 0;
    std::uint64_t renames = 0;
    std::uint64_t unpromoted = 0;
  };
  struct Waiting {
    std::shared_ptr<ReadState> read;
    std::function<void()> callback;
  };

  struct Rooms;  // what a submission needs beside its tensors' memory
  [[nodiscard]] std::optional<memory::StorageFailure> try_submit(const Window& window,
                                                                 ReadState* reads);
  [[nodiscard]] std::optional<memory::StorageFailure> reserve_rooms(const Window& window,
                                                                    const Placement& placement,
                                                                    Rooms& rooms);
  [[nodiscard]] Placed place(const Window& window, const std::vector<TensorFacts>& facts);
  void check_plan(const Window& window, const Placement& placement) const;
  void settle(const Window& window, const Placement& placement);
  void count(const Window& window, const Placement& placement, std::uint32_t bind_groups);
  [[nodiscard]] bool arrived_locked(ReadState& read);
  [[noreturn]] void throw_out_of_memory(const Window& window,
                                        const memory::StorageFailure& failure) const;
  void free_tensor(TensorState& tensor);

  ConnectOptions options_;
  std::uint64_t id_;
  std::unique_ptr<runtime::Backend> backend_;
  memory::Storage storage_;
  BackendPages host_pages_;
  std::unique_ptr<memory::Manager> manager_;
  std::shared_ptr<memory::DropQueue> drops_;
  std::vector<TensorState*> waiting_drops_;  // dropped, but a window still uses them
  std::vector<TensorState*> by_slot_;        // the tensor of each of the manager's slots
  std::unordered_set<std::uint64_t> compiled_;
  Seams seams_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StreamState>> streams_;
  std::vector<StreamState*> idle_streams_;  // without an owner; their windows may hold tasks
  std::uint64_t window_serial_ = 0;
  std::vector<runtime::Ticket> in_flight_;
  std::vector<Waiting> waiting_;
  Totals totals_;
  WindowReport last_window_;
  std::string last_plan_;
  std::uint64_t last_window_serial_ = 0;
};

}  // namespace berth::client
