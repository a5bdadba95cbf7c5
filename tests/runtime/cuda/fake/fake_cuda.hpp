// SPDX-License-Identifier: Apache-2.0
//
// How tests steer the fake libcuda. It executes copies and fills on host memory and "kernels" that
// a test registers by name, in the order that the CUDA rules allow and nothing more: a graph's
// nodes run in a random order within their edges, and held work runs only once somebody waits. It
// counts every call and fails the ones it is told to. One global device; one thread at a time,
// but for calls of the driver themselves. Results (CUresult) and attributes are plain numbers here:
// whoever steers the fake needs no header of CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fake_cuda {

/// One launch of a registered kernel.
struct Launch {
  std::vector<std::uint64_t> parameters;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
};
using KernelFunction = std::function<void(const Launch&)>;

enum class Work : std::uint8_t {
  at_once,  ///< done when the call that issues it returns
  held,     ///< done when somebody waits for it, or release_work() is called
};

/// What exists and was not given back.
struct Live {
  std::size_t device_allocations = 0;
  std::size_t device_bytes = 0;
  std::size_t host_allocations = 0;
  std::size_t events = 0;
  std::size_t streams = 0;
  std::size_t graphs = 0;
  std::size_t graph_execs = 0;
  std::size_t modules = 0;
  std::size_t pools = 0;
  std::size_t contexts = 0;  ///< references to the primary one, and current ones left on the stack
  friend bool operator==(const Live&, const Live&) = default;
};

class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;

  /// Forgets everything, failures and registered kernels included. Nothing may be in use.
  virtual void reset() = 0;
  /// A broken device works again, so that what was made on it can be given back.
  virtual void heal() = 0;
  /// The nth call of `function` from now on answers `result`, and those after it succeed (unless
  /// the error is a sticky one).
  virtual void fail(const char* function, int nth, int result) = 0;
  /// The same for the nth call of any function that makes, issues or waits.
  virtual void fail_any(int nth, int result) = 0;
  /// The next work that is executed fails with a sticky error.
  virtual void fail_work(int result) = 0;
  [[nodiscard]] virtual int calls(const char* function) const = 0;
  /// Calls that fail_any() counts, so far.
  [[nodiscard]] virtual int countable_calls() const = 0;

  /// A module made from exactly this source has the function `entry`, with so many parameters.
  virtual void register_kernel(const std::string& source, const char* entry, int parameters,
                               KernelFunction function) = 0;
  /// Bytes from `address` to the end of its allocation; 0 if it lies in none.
  [[nodiscard]] virtual std::size_t bytes_at(std::uint64_t address) const = 0;

  virtual void set_work(Work work) = 0;
  virtual void release_work() = 0;
  /// Of the order in which a graph's nodes run.
  virtual void set_seed(std::uint64_t seed) = 0;
  virtual void set_memory(std::size_t bytes) = 0;
  virtual void set_devices(int devices) = 0;
  virtual void set_attribute(int attribute, int value) = 0;
  [[nodiscard]] virtual Live live() const = 0;
  /// Copies whose host memory is not pinned: the driver would wait for the stream.
  [[nodiscard]] virtual int pageable_copies() const = 0;
  /// A context and a stream that a host might own.
  [[nodiscard]] virtual void* host_context() = 0;
  [[nodiscard]] virtual void* host_stream() = 0;
  /// Operations executed on that stream.
  [[nodiscard]] virtual int host_stream_work() const = 0;
};

/// The library's symbol that answers its one control.
inline constexpr const char* kControlSymbol = "fake_cuda_control";
using ControlFunction = Control* (*)();

}  // namespace fake_cuda
