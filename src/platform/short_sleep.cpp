// SPDX-License-Identifier: Apache-2.0
#include "platform/short_sleep.hpp"

#include <sys/prctl.h>

#include <thread>

namespace berth::platform {

namespace {
constexpr unsigned long kSlackNs = 1000;
}  // namespace

ShortSleep::ShortSleep() : slack_before_(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
  prctl(PR_SET_TIMERSLACK, kSlackNs, 0, 0, 0);
}

ShortSleep::~ShortSleep() {
  // A failed query left -1: better the default (0) than a thread that keeps ours.
  const unsigned long before = slack_before_ > 0 ? static_cast<unsigned long>(slack_before_) : 0;
  prctl(PR_SET_TIMERSLACK, before, 0, 0, 0);
}

void ShortSleep::sleep(std::chrono::nanoseconds duration) const {
  std::this_thread::sleep_for(duration);
}

}  // namespace berth::platform
