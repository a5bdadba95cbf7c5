// SPDX-License-Identifier: Apache-2.0
#include "berth/options.hpp"

namespace berth {

const char* name_of(Policy policy) {
  switch (policy) {
    case Policy::window:
      return "window";
    case Policy::per_task:
      return "per_task";
    case Policy::exclusive:
      return "exclusive";
    case Policy::read_write:
      return "read_write";
  }
  return "?";
}

}  // namespace berth
