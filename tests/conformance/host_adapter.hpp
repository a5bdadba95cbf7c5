// SPDX-License-Identifier: Apache-2.0
//
// The device that a host would make by hand on the library under test.
#pragma once

#include "runtime_under_test.hpp"
#include "support/raw_device.hpp"

namespace berth::conformance {

[[nodiscard]] inline test::RawAdapter host_adapter() {
  const RuntimeUnderTest& runtime = runtime_under_test();
  if (runtime.name == kDawnNull.name) return test::RawAdapter::dawn_null;
  if (runtime.name == kDawnSwiftShader.name) return test::RawAdapter::dawn_swiftshader;
  return test::RawAdapter::wgpu_lavapipe;
}

}  // namespace berth::conformance
