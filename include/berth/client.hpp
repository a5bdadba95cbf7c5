// SPDX-License-Identifier: Apache-2.0
//
// The client: makes tensors, records tasks, reads results. Recording asks nobody; memory is decided
// when a window closes (read, sync, flush, step_end). Contract: see ARCHITECTURE.md.
//
// Threads: any thread may use a client. Each thread has a default stream of its own.
#pragma once

#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.hpp"
#include "berth/handle.hpp"
#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "berth/readback.hpp"
#include "berth/report.hpp"
#include "berth/uniforms.hpp"

namespace berth {

namespace client {
class Core;
class StreamState;
}  // namespace client

/// Options for a launch.
struct LaunchOptions {
  std::string label{};      ///< named in errors beside the kernel; copied
  double estimated_ns = 0;  ///< device time, if known
};

/// A sequence of recorded tasks. Program order of a tensor is the order of the recorded calls.
/// A cheap, shared reference. All verbs of Client act on its default stream.
class Stream {
 public:
  /// Records a kernel over `grid` workgroups. `bindings` are in the signature's order.
  /// Errors: Error(invalid_argument) for a wrong count, a range outside its tensor or no multiple
  ///   of 4, too few bytes for the element, a handle of another client, forbidden overlaps (both
  ///   bindings and ranges are named), uniforms of other types; Error(no_contents) for a read of a
  ///   tensor without contents; Error(failed); Error(too_large) above a device limit; Error(kernel)
  ///   if it does not compile (at the latest when the window closes). A refused launch records
  ///   nothing.
  /// Order: a launch without workgroups, or whose written bindings are all empty, is skipped.
  void launch(const Kernel& kernel, Grid grid, std::initializer_list<Binding> bindings,
              const Uniforms& uniforms = {}, const LaunchOptions& options = {});
  void launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
              const Uniforms& uniforms = {}, const LaunchOptions& options = {});

  /// Records a kernel whose workgroup counts are three u32 in a tensor (a slice of 12 bytes), which
  /// an earlier task of the same window may write. Counts of 0 run nothing; counts above the
  /// device's limit run nothing. Errors: as launch(), and Error(invalid_argument) if the launch
  /// writes the counts itself.
  void launch_indirect(const Kernel& kernel, const Binding& counts,
                       std::initializer_list<Binding> bindings, const Uniforms& uniforms = {},
                       const LaunchOptions& options = {});
  void launch_indirect(const Kernel& kernel, const Binding& counts,
                       std::span<const Binding> bindings, const Uniforms& uniforms = {},
                       const LaunchOptions& options = {});

  /// Overwrites the range with host data, in program order. The data is copied at the call.
  /// Errors: Error(invalid_argument) if the sizes differ or are no multiple of 4.
  void upload(const Binding& target, std::span<const std::byte> data);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void upload(const Binding& target, std::span<const T> data) {
    upload(target, std::as_bytes(data));
  }
  /// Fills the range with one 32-bit value, in program order.
  void fill(const Binding& target, std::uint32_t value);
  /// Copies source to target, in program order. Errors: Error(invalid_argument) if sizes differ.
  void copy(const Binding& source, const Binding& target);

  /// Reads tensors back; closes the window. Several in one call are one submission.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Readback<T> read(const Binding& source) {
    return Readback<T>(read_bytes({&source, 1}));
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Readback<T> read(std::initializer_list<Binding> sources) {
    return Readback<T>(read_bytes({sources.begin(), sources.size()}));
  }

  /// Closes the window: plans it, maps its tensors, submits it. Does not wait.
  /// Errors: OutOfMemory (the window stays open), Error(device), DeviceLost.
  void flush();
  /// flush(), then waits until everything submitted so far is done.
  void sync();
  /// Marks the border of a step: closes the window.
  void step_end();
  /// True if the open window's memory, with all that is reserved now, stays within `budget` bytes.
  /// Plans the window; makes nothing.
  [[nodiscard]] bool would_fit(Bytes budget) const;
  /// Drops the recorded tasks; tensors they would have written are failed.
  void discard();

  /// For the client's rooms.
  explicit Stream(std::shared_ptr<client::StreamState> state) : state_(std::move(state)) {}

 private:
  [[nodiscard]] std::shared_ptr<client::ReadState> read_bytes(std::span<const Binding> sources);
  std::shared_ptr<client::StreamState> state_;
};

/// Access to one device. A cheap, shared reference: copies speak to the same device.
class Client {
 public:
  /// A tensor without memory and without contents. Cost: no call, no lock.
  /// Units: bytes; any number of them, a multiple of 4. Errors: Error(invalid_argument).
  [[nodiscard]] Handle empty(Bytes bytes, TensorOptions options = {},
                             std::source_location where = std::source_location::current());
  /// A tensor of zeros.
  [[nodiscard]] Handle zeros(Bytes bytes, TensorOptions options = {},
                             std::source_location where = std::source_location::current());
  /// A tensor with the given contents, copied at the call.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Handle create(std::span<const T> data, TensorOptions options = {},
                              std::source_location where = std::source_location::current()) {
    return create_bytes(std::as_bytes(data), std::move(options), where);
  }

  /// The same from a vector, an array, …
  template <std::ranges::contiguous_range R>
  [[nodiscard]] Handle create(const R& data, TensorOptions options = {},
                              std::source_location where = std::source_location::current()) {
    return create_bytes(std::as_bytes(std::span(data)), std::move(options), where);
  }

  [[nodiscard]] Stream stream() const;  ///< the default stream of this thread
  /// A stream of its own. Using a tensor with unsubmitted tasks on another stream closes that
  /// stream's window first.
  [[nodiscard]] Stream make_stream();

  // The verbs of the default stream; see Stream.
  void launch(const Kernel& kernel, Grid grid, std::initializer_list<Binding> bindings,
              const Uniforms& uniforms = {}, const LaunchOptions& options = {});
  void launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
              const Uniforms& uniforms = {}, const LaunchOptions& options = {});
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void upload(const Binding& target, std::span<const T> data) {
    stream().upload(target, std::as_bytes(data));
  }
  void launch_indirect(const Kernel& kernel, const Binding& counts,
                       std::initializer_list<Binding> bindings, const Uniforms& uniforms = {},
                       const LaunchOptions& options = {});
  void launch_indirect(const Kernel& kernel, const Binding& counts,
                       std::span<const Binding> bindings, const Uniforms& uniforms = {},
                       const LaunchOptions& options = {});
  void fill(const Binding& target, std::uint32_t value);
  void copy(const Binding& source, const Binding& target);
  template <class T>
  [[nodiscard]] Readback<T> read(const Binding& source) {
    return stream().read<T>(source);
  }
  template <class T>
  [[nodiscard]] Readback<T> read(std::initializer_list<Binding> sources) {
    return stream().read<T>(sources);
  }
  void flush();
  void sync();
  void step_end();
  void discard();
  [[nodiscard]] bool would_fit(Bytes budget) const;

  /// Compiles kernels now instead of at their first launch. Errors: Error(kernel), each named.
  void prepare(std::span<const Kernel> kernels);
  /// Lets finished work be noticed and callbacks run. Never waits.
  void poll();
  /// What memory is held and what the last window cost.
  [[nodiscard]] Report report() const;
  /// The last window's plan as text: pages, then each task with its places and repairs. Empty
  /// unless connected with Explain::plans.
  [[nodiscard]] std::string last_plan() const;
  /// Gives idle pages back until at most `keep` idle bytes are left. Returns: bytes given back.
  Bytes trim(Bytes keep = 0);
  /// The options in force.
  [[nodiscard]] const ConnectOptions& options() const;
  /// Limits and features of the device, as "name: value" pairs for people.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> device_facts() const;

  /// For the client's rooms.
  explicit Client(std::shared_ptr<client::Core> core) : core_(std::move(core)) {}

 private:
  [[nodiscard]] Handle create_bytes(std::span<const std::byte> data, TensorOptions options,
                                    std::source_location where);
  std::shared_ptr<client::Core> core_;
};

/// A tensor larger than one binding, as slices that fit: of at most `most` bytes, each beginning at
/// a multiple of `alignment` and of the element. Errors: Error(invalid_argument) if `most` is
/// smaller than `alignment` or no multiple of 4.
[[nodiscard]] std::vector<Slice> segments(const Handle& tensor, Bytes most, Bytes alignment = 256);

/// Connects to a device.
/// Errors: Error(unavailable) if the runtime, its library or an adapter is not there, saying why
/// for
///   each one tried; Error(invalid_argument) for an unknown runtime.
[[nodiscard]] Client connect(const ConnectOptions& options = {});

/// One runtime and whether it can be used here.
struct RuntimeInfo {
  std::string name;
  std::string why_not;  ///< empty if available
  std::vector<std::pair<std::string, std::string>> facts;
};
/// Tries every runtime. Never throws for one that is missing: its reason is in the answer.
[[nodiscard]] std::vector<RuntimeInfo> runtimes(const ConnectOptions& options = {});

}  // namespace berth
