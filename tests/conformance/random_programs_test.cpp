// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's programs, a few of them, where its own runs cannot look: under recorder and judge,
// and on a device that validates and computes nothing.
#include "conformance_fixture.hpp"
#include "fuzz/fuzz_program.hpp"
#include "fuzz/run_program.hpp"

namespace berth::conformance {
namespace {

class RandomPrograms : public Conformance {};
BERTH_UNDER_EVERY_POLICY(RandomPrograms);

TEST_P(RandomPrograms, KeepEveryRuleAtTheRealBorder) {
  // These kernels have promoted forms, and a promotion binds inputs writable.
  ignore_verdicts({test::Rule::input_not_read_only});
  const fuzz::Sizes sizes;
  ConnectOptions lowered = options();
  lowered.limits.offset_alignment = Bytes{4} * sizes.alignment_words;
  lowered.limits.max_binding_bytes = Bytes{4} * sizes.binding_words;
  lowered.limits.max_page_bytes = Bytes{4} * sizes.page_words;
  {
    Client client = connect(lowered);
    for (std::uint64_t seed = 9000; seed < 9060; ++seed) {
      const fuzz::Program program = fuzz::generate(seed, sizes);
      const auto wrong = fuzz::run_program(client, program, sizes);
      // Without data every comparison fails; what the library throws does not depend on it.
      if (!wrong || (!computes() && wrong->find("threw") == std::string::npos)) continue;
      FAIL() << "seed " << seed << ": " << *wrong << "\n" << fuzz::to_cpp(program);
    }
    expect_adds_up(client.report());
  }
  test::JudgeOptions with_promotions = judge_options();
  with_promotions.promotions = test::JudgeOptions::Promotions::allowed;
  const test::Verdict verdict = test::judge(recording(), with_promotions);
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

}  // namespace
}  // namespace berth::conformance
