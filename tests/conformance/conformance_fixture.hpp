// SPDX-License-Identifier: Apache-2.0
//
// What every test of the suite stands on: a client of the runtime under test, under one policy.
// Tests of a policy share a client, since a device takes half a second to make; it is given back
// empty, which is itself checked after each test, as is that the judge accepts all that reached
// WebGPU.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/berth.hpp"
#include "runtime_under_test.hpp"
#include "support/integer_kernels.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth::conformance {

using test::kGroup;
using Words = std::vector<std::uint32_t>;

class Conformance : public testing::TestWithParam<Policy> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] static const RuntimeUnderTest& runtime() { return runtime_under_test(); }
  [[nodiscard]] static bool computes() { return runtime().data == Data::computed; }
  [[nodiscard]] static bool has_rule() { return runtime().exclusive == Exclusive::pages; }
  [[nodiscard]] Policy policy() const { return GetParam(); }
  /// Options for a client of the test's own, on a device of its own.
  [[nodiscard]] ConnectOptions options() const;

  /// The calls that reached WebGPU so far in this test; empty without a library.
  [[nodiscard]] static test::Recording recording();
  /// Bytes of all WebGPU buffers that are alive; nothing without a library.
  [[nodiscard]] static std::optional<Bytes> buffer_bytes();
  /// The test breaks these rules of the judge's on purpose.
  void ignore_verdicts(std::initializer_list<test::Rule> rules) { ignored_ = rules; }

  // Shorthand.
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Handle tensor(const Words& words, const std::string& label = "");
  [[nodiscard]] Handle empty(std::size_t words, const std::string& label = "");
  [[nodiscard]] Words read(const Binding& source);
  /// What is read equals `expected`; only its size where nothing computes.
  void expect_words(const Binding& source, const Words& expected);
  static void expect_words(const Readback<std::uint32_t>& result, const Words& expected,
                           std::size_t part = 0);
  void launch_copy(const Binding& x, const Binding& out, std::size_t words);
  void launch_scale(const Binding& x, const Binding& out, std::size_t words, std::uint32_t factor,
                    std::uint32_t offset);

 private:
  std::shared_ptr<Client> client_;
  std::vector<test::Rule> ignored_;
};

/// How the judge reads the suite's calls: every kernel's inputs are declared.
[[nodiscard]] test::JudgeOptions judge_options();

/// begin, begin + step, …
[[nodiscard]] Words counted(std::size_t words, std::uint32_t begin = 0, std::uint32_t step = 1);
[[nodiscard]] Words scaled(Words words, std::uint32_t factor, std::uint32_t offset);

/// The message of the Error with that code that `call` throws; a failed test if it throws none.
std::string error_of(ErrorCode code, const std::function<void()>& call);

/// The figures of a report add up: live + idle + padding = reserved for each pool and in sum.
void expect_adds_up(const Report& report);

[[nodiscard]] std::string name_of_policy(const testing::TestParamInfo<Policy>& info);

// The suites of this runtime under every policy it has.
#define BERTH_UNDER_EVERY_POLICY(Suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      Under, Suite,                                                                             \
      testing::Values(Policy::window, Policy::per_task, Policy::exclusive, Policy::read_write), \
      name_of_policy)

}  // namespace berth::conformance
