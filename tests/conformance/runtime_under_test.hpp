// SPDX-License-Identifier: Apache-2.0
//
// A runtime as the suite sees it: how to connect and what it cannot show, with the reason for each.
// on_<runtime>.cpp registers one each, on one page. A process tests one runtime, since the Vulkan
// driver is a matter of the process; BERTH_CONFORMANCE_RUNTIME chooses it.
#pragma once

#include <span>
#include <string_view>

#include "berth/options.hpp"

namespace berth::conformance {

/// A test that does not run on a runtime.
struct Exclusion {
  std::string_view test;    ///< "Suite.Name" without parameters
  std::string_view reason;  ///< a sentence
};

/// What a test may expect. Everything else holds for every runtime.
enum class Data : std::uint8_t {
  computed,
  none,  ///< commands are checked and nothing runs: results are not compared
};
enum class Exclusive : std::uint8_t {
  pages,  ///< WebGPU's rule: a written page has no other use in a dispatch
  nothing,
};

struct RuntimeUnderTest {
  std::string_view name;
  /// Options to connect with, less the policy. May choose the process's Vulkan driver.
  ConnectOptions (*options)();
  Data data = Data::computed;
  Exclusive exclusive = Exclusive::pages;
  /// A WebGPU library, on which recorder and judge stand; empty = none.
  std::string_view library;
  std::span<const Exclusion> exclusions;
};

extern const RuntimeUnderTest kReference;
extern const RuntimeUnderTest kReferenceStrict;
extern const RuntimeUnderTest kWgpuLavapipe;
extern const RuntimeUnderTest kDawnNull;
extern const RuntimeUnderTest kDawnSwiftShader;
extern const RuntimeUnderTest kCuda;
extern const RuntimeUnderTest kCudaFake;

/// The one that this process tests; "reference" if none is chosen.
/// Errors: std::runtime_error for an unknown name.
[[nodiscard]] const RuntimeUnderTest& runtime_under_test();

}  // namespace berth::conformance
