// SPDX-License-Identifier: Apache-2.0
//
// A stream: records tasks into its window and closes it. The verbs of Stream and Client end here.
// Any thread; the verbs take the core's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "berth/client.hpp"
#include "client/core.hpp"
#include "client/window.hpp"

namespace berth::client {

class StreamState {
 public:
  /// `core` outlives it.
  explicit StreamState(Core& core);

  void launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
              const Uniforms& uniforms, const LaunchOptions& options);
  void launch_indirect(const Kernel& kernel, const Binding& counts,
                       std::span<const Binding> bindings, const Uniforms& uniforms,
                       const LaunchOptions& options);
  void upload(const Binding& target, std::span<const std::byte> data);
  void fill(const Binding& target, std::uint32_t value);
  void copy(const Binding& source, const Binding& target);
  [[nodiscard]] std::shared_ptr<ReadState> read(std::span<const Binding> sources);
  void flush();
  void sync();
  void discard();
  [[nodiscard]] bool would_fit(Bytes budget);
  /// Drops the window without a word: the client is ending. The lock is held, or not needed.
  void abandon();

  [[nodiscard]] Core& core() { return core_; }
  /// Closes the window at once; the core's lock is held.
  void submit(ReadState* reads);

 private:
  using Lock = Core::Lock;

  [[nodiscard]] Lock begin_verb();
  /// Closes the window, waiting for its turn first.
  void close(Lock& lock, ReadState* reads);
  /// The other streams that use these tensors close their windows first.
  void close_others(std::span<const Window::NewUse> uses);
  void note_uses(std::span<const Window::NewUse> uses);
  [[nodiscard]] Window::NewUse resolve_transfer(const Binding& binding, Access access,
                                                const char* verb) const;
  void copy_through_transient(const Window::NewUse& from, const Window::NewUse& to);
  void launch_locked(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                     const Binding* counts, const Uniforms& uniforms, const LaunchOptions& options);
  void upload_piece(Lock& lock, const Window::NewUse& target, std::span<const std::byte> data);
  void finish_verb(Lock& lock);

  Core& core_;
  Window window_;
  std::vector<Window::NewUse> scratch_;
};

}  // namespace berth::client
