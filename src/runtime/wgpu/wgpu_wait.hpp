// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the device: a short spin, then polls with short sleeps between them, the same for
// every library (wgpuInstanceWaitAny ends the process in wgpu-native, and the waiting poll holds a
// lock that blocks submit). A result is noticed within 50 us of its arrival. Safe from any thread.
#pragma once

#include <functional>

#include "runtime/wgpu/wgpu_device.hpp"

namespace berth::runtime::wgpu {

/// Pumps until `done` answers true; `done` is also asked after a loss.
/// Errors: DeviceLost; Error(device) if only the host pumps and nothing happens for 10 s.
void wait_until(Device& device, const std::function<bool()>& done);

}  // namespace berth::runtime::wgpu
