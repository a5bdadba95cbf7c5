// SPDX-License-Identifier: Apache-2.0
//
// Sleeps of a few microseconds. The system stretches a thread's sleeps by its timer slack (50 us on
// Linux), more than a whole GPU result may be delayed; within a ShortSleep's life this thread's
// slack is 1 us. Belongs to the thread that made it.
#pragma once

#include <chrono>

namespace berth::platform {

class ShortSleep {
 public:
  ShortSleep();
  ShortSleep(const ShortSleep&) = delete;
  ShortSleep& operator=(const ShortSleep&) = delete;
  ~ShortSleep();

  void sleep(std::chrono::nanoseconds duration) const;

 private:
  long slack_before_;
};

}  // namespace berth::platform
