// SPDX-License-Identifier: Apache-2.0
//
// The result of a read: bytes that arrive later. Callback first: then() never blocks, only get()
// does. One reader per result; not for use from two threads at once.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "berth/error.hpp"
#include "berth/units.hpp"

namespace berth {

namespace client {
struct ReadState;
[[nodiscard]] bool ready(ReadState& state);
void wait(ReadState& state);
void on_ready(const std::shared_ptr<ReadState>& state, std::function<void()> callback);
/// The bytes of part `index`. Throws the error of a failed read. Only when ready.
[[nodiscard]] std::span<const std::byte> bytes_of(ReadState& state, std::size_t index);
[[nodiscard]] const Error* error_of(const ReadState& state) noexcept;
[[nodiscard]] std::size_t parts_of(const ReadState& state);
}  // namespace client

/// Elements of one tensor, or of several read in one call, as they arrive.
template <class T>
class Readback {
 public:
  explicit Readback(std::shared_ptr<client::ReadState> state) : state_(std::move(state)) {}

  /// True once get() will not block. Cost: lets the device make progress, never waits.
  [[nodiscard]] bool ready() const { return client::ready(*state_); }

  /// Calls `callback` with this result once it is ready: at once if it is, else from a later call
  /// into the client (ready, get, sync, flush, poll) on the thread that makes it. Never called once
  /// the last reference to the client is gone.
  void then(std::function<void(Readback<T>&)> callback) const {
    client::on_ready(state_, [state = state_, callback = std::move(callback)] {
      Readback<T> self(state);
      callback(self);
    });
  }

  /// Waits and returns the elements of the tensor at `part` of the call, 0 for a single one.
  /// Errors: Error(failed), DeviceLost, Error(device): what happened to the window.
  [[nodiscard]] std::vector<T> get(std::size_t part = 0) const {
    client::wait(*state_);
    const std::span<const std::byte> bytes = client::bytes_of(*state_, part);
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
  /// What went wrong, once ready; nullptr if nothing did. For callers that cannot throw.
  [[nodiscard]] const Error* error() const noexcept { return client::error_of(*state_); }
  [[nodiscard]] std::size_t parts() const { return client::parts_of(*state_); }

 private:
  std::shared_ptr<client::ReadState> state_;
};

}  // namespace berth
