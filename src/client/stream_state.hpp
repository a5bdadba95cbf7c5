// SPDX-License-Identifier: Apache-2.0
//
// A stream: records tasks into its window and closes it. The verbs of Stream and Client end here.
// One thread at a time.
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
  void upload(const Binding& target, std::span<const std::byte> data);
  void fill(const Binding& target, std::uint32_t value);
  void copy(const Binding& source, const Binding& target);
  [[nodiscard]] std::shared_ptr<ReadState> read(std::span<const Binding> sources);
  void flush() { close(nullptr); }
  void discard();
  /// Drops the window without a word: the client is ending.
  void abandon();

  [[nodiscard]] Core& core() { return core_; }

 private:
  void begin_verb();
  void close(ReadState* reads);
  void note_uses(std::span<const Window::NewUse> uses);
  [[nodiscard]] Window::NewUse resolve_transfer(const Binding& binding, Access access,
                                                const char* verb);
  void upload_piece(const Window::NewUse& target, std::span<const std::byte> data);

  Core& core_;
  Window window_;
  std::vector<Window::NewUse> scratch_;
};

}  // namespace berth::client
