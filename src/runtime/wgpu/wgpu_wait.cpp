// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_wait.hpp"

#include <algorithm>
#include <chrono>

#include "berth/error.hpp"
#include "platform/short_sleep.hpp"

namespace berth::runtime::wgpu {

namespace {

using Clock = std::chrono::steady_clock;

// Work shorter than this is cheaper to spin for than to sleep for.
constexpr std::chrono::microseconds kSpin{20};
// The sleep grows with the time waited so far, a tenth of it, between these bounds. On an H200 this
// adds 25 us to a result and takes a tenth of a core (at 25 us: 17 us and a seventh; at 80 us: 45
// us and a twentieth).
constexpr std::chrono::microseconds kShortestSleep{5};
constexpr std::chrono::microseconds kLongestSleep{40};
constexpr std::chrono::seconds kNobodyPumps{10};

}  // namespace

void wait_until(Device& device, const std::function<bool()>& done) {
  const auto look = [&] {
    if (device.pumps()) device.pump();
    if (done()) return true;
    device.check_alive();
    return false;
  };
  const auto start = Clock::now();
  auto waited = Clock::duration::zero();
  while (waited < kSpin) {
    if (look()) return;
    waited = Clock::now() - start;
  }
  const platform::ShortSleep sleeper;
  while (!look()) {
    waited = Clock::now() - start;
    if (!device.pumps() && waited > kNobodyPumps) {
      throw Error(ErrorCode::device,
                  "Waited 10 s for the device without an event: with Events::host_pumps the host "
                  "must call wgpuInstanceProcessEvents while another thread waits.");
    }
    const auto pause = std::chrono::duration_cast<std::chrono::microseconds>(waited / 10);
    sleeper.sleep(std::clamp(pause, kShortestSleep, kLongestSleep));
  }
}

}  // namespace berth::runtime::wgpu
