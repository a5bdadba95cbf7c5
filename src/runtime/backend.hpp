// SPDX-License-Identifier: Apache-2.0
//
// What a runtime is, on one page. It makes pages, compiles kernels, prepares a program for real
// pages, encodes and submits it, and says what is done. It speaks of programs, not of calls, and it
// decides nothing about memory. Programs have passed the checker.
// Threads: make_page, free_page, prepare, submit, map and unmap are called with the device's one
// submission lock held; all else from any thread without it: the runtime guards its own tables and
// holds no lock of its own while events are pumped or foreign functions run.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "berth/plan/problem.hpp"
#include "memory/storage.hpp"
#include "plan/program.hpp"

namespace berth::runtime {

/// Limits of a device, after lowering by options.
struct Limits {
  Bytes max_page_bytes = 0;
  Bytes max_binding_bytes = 0;
  Bytes max_uniform_bytes = 0;  ///< of one uniform block
  Bytes offset_alignment = 4;   ///< of storage bindings
  Bytes uniform_alignment = 4;  ///< of uniform blocks
  std::uint32_t max_storage_bindings = 0;
  std::uint32_t max_groups_per_dimension = 0;
  std::uint32_t max_invocations_per_group = 0;
  std::array<std::uint32_t, 3> max_group_size{};
  Bytes max_group_memory = 0;
};

/// What placement can win in time.
enum class Overlap : std::uint8_t {
  none,       ///< dispatches run one after another whatever the placement (Dawn, Metal)
  by_page,    ///< dispatches overlap if their pages differ (wgpu-native on Vulkan)
  by_hazard,  ///< dispatches overlap unless their data depends (CUDA)
};

/// How the host learns that work is done.
enum class Waiting : std::uint8_t {
  poll,        ///< short spin, then polls with back-off
  wait_any,    ///< the library waits
  blocking,    ///< a wait of the driver
  host_pumps,  ///< only the host pumps events
};

/// A device as data. The client and the planner see a runtime only through this.
struct Capabilities {
  std::string runtime;  ///< "wgpu", …
  std::string adapter;  ///< for people
  std::string library;  ///< "wgpu-native 29.0", …; empty if built in
  Target target = Target::wgsl;
  bool exclusion = true;            ///< the rule of WebGPU holds
  bool unaligned_bindings = false;  ///< bindings may begin at any multiple of 4
  bool copy_within_page = false;    ///< disjoint ranges of one page may be copied
  plan::Growth growth = plan::Growth::replace;
  Overlap overlap = Overlap::none;
  Waiting waiting = Waiting::poll;
  /// The uniform room given first to a Prepared must be given to all its submissions (kernel
  /// arguments stay constant); the runtime orders the overwrites.
  bool fixed_uniform_room = false;
  Bytes page_granularity = 64 * kKiB;
  Limits limits;
  std::vector<std::string> features;                       ///< "f16", "timestamps", …
  std::vector<std::pair<std::string, std::string>> facts;  ///< more, for people
};

/// A submission. Tickets grow in the order of submission.
struct Ticket {
  std::uint64_t value = 0;
  friend auto operator<=>(Ticket, Ticket) = default;
};

/// Bytes of a staging page.
struct HostSlice {
  memory::PageHandle page;
  Bytes offset = 0;
};

/// A tensor's bytes, as the caller's own commands see them.
struct ForeignView {
  void* buffer = nullptr;     ///< the runtime's buffer object (WGPUBuffer), if it has one
  std::uint64_t address = 0;  ///< of the first byte (CUdeviceptr, host pointer), if it has one
  Bytes offset = 0;           ///< in the buffer
  Bytes bytes = 0;
  Access access = Access::read;
};
/// The caller's own commands, run in program order: `native` is an encoder, a stream.
using ForeignFunction = std::function<void(void* native, std::span<const ForeignView>)>;

/// What changes from one submission of a program to the next.
struct Submission {
  std::span<const std::byte> uniforms;   ///< Program::uniform_bytes, packed for the target
  HostSlice uniform_room;                ///< a page made for uniforms, free until it completes;
                                         ///< its offset is a multiple of uniform_alignment
  std::span<const Grid> grids;           ///< workgroups, by Command::grid
  std::span<const HostSlice> uploads;    ///< sources; their pages are not mapped
  std::span<const HostSlice> readbacks;  ///< targets; their pages are not mapped
  std::span<const ForeignFunction> foreign;
};

/// A program bound to real pages: bind groups, graph nodes. Reusable; dropped with the lock held.
class Prepared {
 public:
  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  virtual ~Prepared() = default;
  /// Bind groups made for it (not found in a cache).
  [[nodiscard]] virtual std::uint32_t bind_groups_made() const { return 0; }
};

/// Whether the host can touch a staging page.
enum class HostState : std::uint8_t {
  unmapped,  ///< the device's: may enter a submission
  mapping,   ///< asked for
  mapped,    ///< the host's: host_data() is valid
};

/// A program's commands, encoded for one submission; dropped unsubmitted, it leaves nothing behind.
class Encoded {
 public:
  Encoded() = default;
  Encoded(const Encoded&) = delete;
  Encoded& operator=(const Encoded&) = delete;
  virtual ~Encoded() = default;
};

class Backend : public memory::PageSource {
 public:
  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;

  /// Compiles a form of a kernel if that has not been done.
  /// Errors: Error(kernel) with the kernel's name, line and the compiler's text.
  virtual void compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) = 0;
  /// True if that form is compiled (a promotion may use it).
  [[nodiscard]] virtual bool compiled(const Kernel& kernel, Variant variant,
                                      std::uint32_t in_place_pairs) const = 0;

  /// Binds a program to pages: pages[i] stands for program->pages[i].
  /// Errors: Error(device). Nothing was submitted.
  [[nodiscard]] virtual std::unique_ptr<Prepared> prepare(
      std::shared_ptr<const plan::Program> program, std::span<const memory::PageHandle> pages) = 0;

  /// Encodes all of it: into an encoder of its own, or of the caller's (`into`, where the runtime
  /// can). Runs foreign functions. One call at a time per Prepared. What the spans of `submission`
  /// point to must stay until the Encoded is submitted or dropped. Errors: Error(device) naming the
  /// task; DeviceLost.
  [[nodiscard]] virtual std::unique_ptr<Encoded> encode(Prepared& prepared,
                                                        const Submission& submission,
                                                        void* into = nullptr) = 0;
  /// Finishes and submits all of it, or nothing.
  /// Errors: Error(device) naming the task; DeviceLost. Nothing was submitted.
  [[nodiscard]] virtual Ticket submit(std::unique_ptr<Encoded> encoded) = 0;

  /// Every submission up to the answered one is done. Lets events be noticed; never waits.
  [[nodiscard]] virtual Ticket poll() = 0;
  /// Waits until every submission up to `ticket` is done. Errors: DeviceLost; nothing hangs.
  virtual void wait(Ticket ticket) = 0;

  // Staging pages.
  /// Asks for the host's access; the page's submissions come first. For upload or readback pages.
  virtual void map(memory::PageHandle page) = 0;
  /// Waits until a page that map() was asked for is mapped. Errors: DeviceLost, Error(device).
  virtual void wait_mapped(memory::PageHandle page) = 0;
  [[nodiscard]] virtual HostState host_state(memory::PageHandle page) const = 0;
  /// The page's bytes; valid while mapped. Uploads are written, readbacks are read.
  [[nodiscard]] virtual std::byte* host_data(memory::PageHandle page) = 0;
  /// Gives the page back to the device.
  virtual void unmap(memory::PageHandle page) = 0;

  /// Set once the device is gone: why. Everything throws DeviceLost from then on.
  [[nodiscard]] virtual std::optional<std::string> lost() const = 0;
};

/// Makes a runtime from options. Errors: Error(unavailable) with the reason,
/// Error(invalid_argument).
using Factory = std::unique_ptr<Backend> (*)(const ConnectOptions& options);

}  // namespace berth::runtime
