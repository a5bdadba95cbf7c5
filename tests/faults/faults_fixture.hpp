// SPDX-License-Identifier: Apache-2.0
//
// A window of 20 tasks of every kind, and how to run it while something fails: in storage on every
// runtime, at the entry points where there is a WebGPU library. BERTH_CONFORMANCE_RUNTIME chooses
// the runtime.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/berth.hpp"
#include "client/core.hpp"
#include "conformance/runtime_under_test.hpp"
#include "support/wgpu_faults.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth::faults {

using Words = std::vector<std::uint32_t>;

/// A client on a device of its own, its core, and what stands between it and a WebGPU library.
class Rig {
 public:
  enum class Expect : std::uint8_t { no_errors, errors };
  explicit Rig(Expect expect, Bytes budget = kWholeSize);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  /// Gives the client up and lets the judge speak.
  ~Rig();

  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] client::Core& core() { return *core_; }
  [[nodiscard]] test::FaultyTable* table() { return table_ ? &*table_ : nullptr; }
  /// The report's identities, the manager's invariants, and the bytes of the buffers alive.
  void expect_exact();
  /// Faults, over all rigs, that struck a submission itself; starts anew.
  [[nodiscard]] static std::size_t take_struck_submits() {
    return std::exchange(struck_submits_, 0);
  }

 private:
  static std::size_t struck_submits_;
  std::optional<test::FaultyTable> table_;
  std::optional<test::Recorder> recorder_;
  Expect expect_;
  std::shared_ptr<client::Core> core_;
  std::optional<Client> client_;
};

[[nodiscard]] inline bool has_library() {
  return !conformance::runtime_under_test().library.empty();
}
[[nodiscard]] inline bool computes() {
  return conformance::runtime_under_test().data == conformance::Data::computed;
}

/// The window's tensors, made anew for each run. `kept` lived before it.
struct Work {
  Handle kept;
  Handle uploaded;
  Handle large;  ///< may be dropped to make room
  std::vector<Handle> values;
};
/// Makes and submits what the window stands on. Errors: as of the verbs.
[[nodiscard]] Work begin(Client& client);
/// Records 20 tasks. Errors: as of the verbs.
void record(Client& client, Work& work);
/// Reads the last value and compares.
void expect_done(Client& client, const Work& work);

}  // namespace berth::faults
