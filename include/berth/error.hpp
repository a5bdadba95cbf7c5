// SPDX-License-Identifier: Apache-2.0
//
// The one small family of exceptions. Every message is a full sentence: what happened, where, the
// value and the limit, what to do. Nothing in berth prints or aborts. Safe from any thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "berth/units.hpp"

namespace berth {

enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< misuse: the call is refused and changed nothing
  too_large,         ///< never fits: above a limit of the device, whatever is freed
  out_of_memory,     ///< not now, or over the budget: see OutOfMemory
  no_contents,       ///< a read of a tensor that was never written
  failed,            ///< a tensor whose contents were lost with a discarded window
  device_lost,
  device,       ///< the device or its library reported an error
  kernel,       ///< a kernel does not compile, or its signature does not fit
  unavailable,  ///< a runtime, library, adapter or feature that is not there
  unsupported,  ///< a named behaviour that this version does not have
  internal,     ///< a defect in berth: the checker refused a plan, say
};
[[nodiscard]] const char* name_of(ErrorCode code);

/// Base of all errors.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  // Defined in the library, like those below: one vtable, also for hosts built without RTTI.
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// A tensor named in a report or an error.
struct TensorBytes {
  std::string label{};
  Bytes bytes = 0;
};

/// A window could not get its pages. The window stays open: drop handles and flush again, or
/// discard it.
class OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& message, Bytes need, Bytes budget,
              std::vector<TensorBytes> largest)
      : Error(ErrorCode::out_of_memory, message),
        need_(need),
        budget_(budget),
        largest_(std::move(largest)) {}
  OutOfMemory(const OutOfMemory&) = default;
  OutOfMemory& operator=(const OutOfMemory&) = default;
  ~OutOfMemory() override;
  [[nodiscard]] Bytes need() const noexcept { return need_; }
  [[nodiscard]] Bytes budget() const noexcept { return budget_; }
  [[nodiscard]] const std::vector<TensorBytes>& largest() const noexcept { return largest_; }

 private:
  Bytes need_;
  Bytes budget_;
  std::vector<TensorBytes> largest_{};
};

/// The device is gone; everything on it failed.
class DeviceLost : public Error {
 public:
  explicit DeviceLost(const std::string& message) : Error(ErrorCode::device_lost, message) {}
  DeviceLost(const DeviceLost&) = default;
  DeviceLost& operator=(const DeviceLost&) = default;
  ~DeviceLost() override;
};

/// A named behaviour that this version, or this runtime, does not have.
class Unsupported : public Error {
 public:
  explicit Unsupported(const std::string& message) : Error(ErrorCode::unsupported, message) {}
  Unsupported(const Unsupported&) = default;
  Unsupported& operator=(const Unsupported&) = default;
  ~Unsupported() override;
};

}  // namespace berth
