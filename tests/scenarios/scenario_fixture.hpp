// SPDX-License-Identifier: Apache-2.0
//
// What every scenario stands on: a client of the runtime under test (the conformance suite's
// registration), with repairs, in-place and indirect launches judged at the entry points.
// BERTH_CONFORMANCE_RUNTIME chooses the runtime. Each test gives its client back empty.
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
#include "conformance/runtime_under_test.hpp"
#include "fuzz/fuzz_kernels.hpp"
#include "support/integer_kernels.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth::scenarios {

using test::kGroup;
using Words = std::vector<std::uint32_t>;

/// branch_kernel with a promoted form, which uniformity analysis may refuse: it is never needed.
[[nodiscard]] const Kernel& promotable_branch_kernel();
/// counts = {groups of 64 that cover value, 1, 1} where value is x[0]; one group. x read, out
/// write.
[[nodiscard]] const Kernel& residual_kernel();

class Scenarios : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] static const conformance::RuntimeUnderTest& runtime() {
    return conformance::runtime_under_test();
  }
  [[nodiscard]] static bool computes() { return runtime().data == conformance::Data::computed; }
  [[nodiscard]] static bool has_rule() {
    return runtime().exclusive == conformance::Exclusive::pages;
  }
  /// Options for a client of the test's own, on a device of its own.
  [[nodiscard]] static ConnectOptions options();
  /// The calls that reached WebGPU so far in this test; empty without a library.
  [[nodiscard]] static const test::Recording& recording();
  /// Bytes of all WebGPU buffers alive; nothing without a library.
  [[nodiscard]] static std::optional<Bytes> buffer_bytes();

  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Handle tensor(const Words& words, const std::string& label = "") {
    return client().create(words, {.label = label});
  }
  [[nodiscard]] Handle empty(std::size_t words, const std::string& label = "") {
    return client().empty(Bytes{4} * words, {.label = label});
  }
  void expect_words(const Binding& source, const Words& expected) {
    expect_words(client().read<std::uint32_t>(source), expected);
  }
  static void expect_words(const Readback<std::uint32_t>& result, const Words& expected,
                           std::size_t part = 0);

  // On `words` elements. The fuzz kernels have every variant, the integer ones the plain form.
  static void increment(Client& on, const Binding& a, const Binding& out, std::size_t words,
                        std::uint32_t value);
  static void add(Client& on, const Binding& a, const Binding& b, const Binding& out,
                  std::size_t words, std::uint32_t value = 0);
  static void accumulate(Client& on, const Binding& a, const Binding& x, std::size_t words);

 private:
  std::shared_ptr<Client> client_;
};

/// begin, begin + step, …
[[nodiscard]] Words counted(std::size_t words, std::uint32_t begin = 0, std::uint32_t step = 1);
[[nodiscard]] Words plus(Words words, std::uint32_t value);
[[nodiscard]] Words plus(Words words, const Words& other);

/// Slice in words.
[[nodiscard]] inline Slice part(const Handle& tensor, std::size_t first, std::size_t words) {
  return tensor.slice(Bytes{4} * first, Bytes{4} * words);
}

/// The message of the Error with that code that `call` throws; a failed test if it throws none.
std::string error_of(ErrorCode code, const std::function<void()>& call);
/// live + idle + padding = reserved for each pool and in sum.
void expect_adds_up(const Report& report);
[[nodiscard]] std::uint64_t repairs_of(const Report& report);
[[nodiscard]] PoolReport pool_of(const Report& report, std::string_view name);

}  // namespace berth::scenarios
