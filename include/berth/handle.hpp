// SPDX-License-Identifier: Apache-2.0
//
// What the user holds: one tensor's identity. Making, copying and dropping a handle asks nobody and
// takes no lock. Where the tensor lies is known to the memory manager alone. Handles may be copied
// and dropped from any thread at any time, also after their client is gone.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

#include "berth/units.hpp"

namespace berth {

namespace client {
struct TensorState;  // the control block
void retain(TensorState* tensor) noexcept;
void drop(TensorState* tensor) noexcept;
}  // namespace client

class Slice;

/// Options for a new tensor.
struct TensorOptions {
  /// Named in reports and errors; copied.
  std::string label{};
  /// Growing tensors: bytes it may grow to without moving; 0 = its size.
  Bytes capacity = 0;
};

/// One tensor. Null by default.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle& other) noexcept : tensor_(other.tensor_) {
    if (tensor_ != nullptr) client::retain(tensor_);
  }
  Handle(Handle&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  Handle& operator=(const Handle& other) noexcept {
    Handle copy(other);
    std::swap(tensor_, copy.tensor_);
    return *this;
  }
  Handle& operator=(Handle&& other) noexcept {
    Handle taken(std::move(other));
    std::swap(tensor_, taken.tensor_);
    return *this;
  }
  ~Handle() {
    if (tensor_ != nullptr) client::drop(tensor_);
  }

  [[nodiscard]] explicit operator bool() const { return tensor_ != nullptr; }
  friend bool operator==(const Handle&, const Handle&) = default;

  /// Unique in the process, never reused. Errors, here and below: Error(invalid_argument) if null.
  [[nodiscard]] std::uint64_t id() const;
  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Bytes capacity() const;
  [[nodiscard]] const std::string& label() const;
  [[nodiscard]] const std::source_location& made_at() const;

  /// True when exactly one handle holds the tensor: an output may take over its memory.
  [[nodiscard]] bool can_mut() const;
  /// Has device memory now.
  [[nodiscard]] bool is_mapped() const;
  /// A recorded task has written it.
  [[nodiscard]] bool has_contents() const;
  /// Its contents were lost with a discarded window or device; reading it throws.
  [[nodiscard]] bool failed() const;

  /// A range of this tensor; holds the tensor like another handle.
  /// Units: bytes; multiples of 4; kWholeSize = to the end. Errors: Error(invalid_argument) if
  /// outside the tensor.
  [[nodiscard]] Slice slice(Bytes offset, Bytes bytes) const;

  /// For the client's rooms.
  explicit Handle(client::TensorState* adopted) noexcept : tensor_(adopted) {}
  [[nodiscard]] client::TensorState* state() const noexcept { return tensor_; }
  [[nodiscard]] client::TensorState* release() noexcept { return std::exchange(tensor_, nullptr); }

 private:
  client::TensorState* tensor_ = nullptr;
};

/// A range of a tensor.
class Slice {
 public:
  Slice(Handle tensor, Range range) : tensor_(std::move(tensor)), range_(range) {}
  [[nodiscard]] const Handle& tensor() const { return tensor_; }
  [[nodiscard]] Range range() const { return range_; }

 private:
  Handle tensor_;
  Range range_;
};

/// One use of a handle or slice by a task. It only points at them: make it in the call that records
/// the task and never keep it longer than the handle or slice it was made from.
/// `{std::move(h), y}` hands over the last use of h, whose memory may then serve an output: h is
/// null afterwards, but only if the call succeeds.
class Binding {
 public:
  Binding(const Handle& tensor) noexcept  // NOLINT: bindings read as prose
      : tensor_(tensor.state()), range_{0, kWholeSize} {}
  Binding(Handle&& tensor) noexcept  // NOLINT
      : given_(&tensor), tensor_(tensor.state()), range_{0, kWholeSize} {}
  Binding(const Slice& slice) noexcept  // NOLINT
      : tensor_(slice.tensor().state()), range_(slice.range()) {}

  [[nodiscard]] client::TensorState* tensor() const noexcept { return tensor_; }
  [[nodiscard]] Range range() const noexcept { return range_; }
  [[nodiscard]] bool handed_over() const noexcept { return given_ != nullptr; }
  /// Takes a handle that was handed over; the last step of a call that recorded it.
  void take() const noexcept {
    if (given_ != nullptr) Handle(std::move(*given_));
  }

 private:
  Handle* given_ = nullptr;  // only for a hand-over
  client::TensorState* tensor_;
  Range range_;
};

}  // namespace berth
