// SPDX-License-Identifier: Apache-2.0
#include "berth/error.hpp"

namespace berth {

Error::~Error() = default;
OutOfMemory::~OutOfMemory() = default;
DeviceLost::~DeviceLost() = default;
Unsupported::~Unsupported() = default;

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::no_contents:
      return "no_contents";
    case ErrorCode::failed:
      return "failed";
    case ErrorCode::device_lost:
      return "device_lost";
    case ErrorCode::device:
      return "device";
    case ErrorCode::kernel:
      return "kernel";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::internal:
      return "internal";
  }
  return "?";
}

}  // namespace berth
