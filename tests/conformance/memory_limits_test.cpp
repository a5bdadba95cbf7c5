// SPDX-License-Identifier: Apache-2.0
//
// Windows that do not get their memory: whole or not at all, with need, budget and the largest
// tensors; the window stays open.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

using testing::HasSubstr;

class MemoryLimits : public Conformance {
 protected:
  static constexpr std::size_t kWords = 256 * 1024;  // 1 MiB

  [[nodiscard]] Client small(Bytes budget) const {
    ConnectOptions limited = options();
    limited.budget = budget;
    return connect(limited);
  }
  static Handle filled(Client& client, std::uint32_t value, const std::string& label) {
    Handle x = client.empty(4 * kWords, {.label = label});
    client.fill(x, value);
    return x;
  }
  static void expect_first(Client& client, const Handle& x, std::uint32_t value) {
    expect_words(client.read<std::uint32_t>(x.slice(0, 256)), Words(64, value));
    expect_words(client.read<std::uint32_t>(x.slice(4 * kWords - 256, 256)), Words(64, value));
  }
};
BERTH_UNDER_EVERY_POLICY(MemoryLimits);

TEST_P(MemoryLimits, OverBudgetAWindowStaysOpenAndSucceedsOnceHandlesAreDropped) {
  constexpr Bytes kBudget = 4 * kMiB + 512 * kKiB;
  Client client = small(kBudget);
  const Handle kept = filled(client, 1, "kept");
  Handle dropped = filled(client, 2, "dropped");
  client.flush();
  const Handle late = filled(client, 3, "late");
  const Handle large = client.empty(2 * 4 * kWords, {.label = "large"});
  client.fill(large, 4);
  const Report before = client.report();
  std::string message;
  try {
    client.flush();
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_EQ(error.budget(), kBudget);
    EXPECT_GT(error.need(), 0U);
    ASSERT_FALSE(error.largest().empty());
    EXPECT_EQ(error.largest()[0].label, "large");
    EXPECT_EQ(error.largest()[0].bytes, 2 * 4 * kWords);
  }
  EXPECT_THAT(message, HasSubstr("'large' (2097152 bytes)"));
  EXPECT_THAT(message, HasSubstr("4718592"));  // the budget
  EXPECT_THAT(message, HasSubstr("stays open"));
  EXPECT_EQ(client.report().windows, before.windows);
  expect_adds_up(client.report());
  EXPECT_LE(client.report().reserved, kBudget);
  EXPECT_FALSE(large.is_mapped());
  EXPECT_TRUE(kept.is_mapped());

  dropped = {};
  client.flush();
  expect_first(client, kept, 1);
  expect_first(client, late, 3);
  expect_first(client, large, 4);
  EXPECT_LE(client.report().reserved, kBudget);
}

TEST_P(MemoryLimits, OverBudgetAWindowMayBeDiscarded) {
  Client client = small(2 * kMiB);
  const Handle kept = filled(client, 1, "kept");
  client.flush();
  const Handle more = filled(client, 2, "more");
  const Handle evenmore = filled(client, 3, "evenmore");
  EXPECT_THROW(client.flush(), OutOfMemory);
  EXPECT_THROW(client.flush(), OutOfMemory) << "and again";
  client.discard();
  EXPECT_TRUE(more.failed());
  EXPECT_TRUE(evenmore.failed());
  EXPECT_FALSE(kept.failed());
  EXPECT_THAT(
      error_of(ErrorCode::failed, [&] { static_cast<void>(client.read<std::uint32_t>(more)); }),
      testing::AllOf(HasSubstr("'more'"), HasSubstr("discarded")));
  expect_first(client, kept, 1);
}

TEST_P(MemoryLimits, AReadThatDoesNotGetItsMemoryLeavesTheWindowAsItWas) {
  Client client = small(2 * kMiB + 256 * kKiB);
  const Handle x = filled(client, 5, "x");
  EXPECT_THROW(
      {
        const Handle y = filled(client, 6, "y");
        static_cast<void>(client.read<std::uint32_t>({x, y}));
      },
      OutOfMemory);
  // y is dropped; what is left fits.
  expect_words(client.read<std::uint32_t>(x.slice(0, 256)), Words(64, 5));
  expect_adds_up(client.report());
}

TEST_P(MemoryLimits, IdlePagesOfOtherSizesGoBackBeforeAWindowFails) {
  Client client = small(5 * kMiB);
  for (const std::size_t mib : {1, 2, 3, 4, 1, 4, 2}) {
    const Handle x = client.empty(mib * kMiB);
    client.fill(x, static_cast<std::uint32_t>(mib));
    expect_words(client.read<std::uint32_t>(x.slice(0, 4)), {static_cast<std::uint32_t>(mib)});
  }
  EXPECT_LE(client.report().reserved, 5 * kMiB);
}

TEST_P(MemoryLimits, ATensorLargerThanAnyPageIsRefusedAsSuch) {
  ConnectOptions lowered = options();
  lowered.limits.max_page_bytes = kMiB;
  Client client = connect(lowered);
  const Handle fits = filled(client, 1, "fits");
  client.flush();
  const Handle larger = client.zeros(kMiB + 256, {.label = "larger"});
  EXPECT_THAT(error_of(ErrorCode::too_large, [&] { client.flush(); }),
              testing::AllOf(HasSubstr("1048832"), HasSubstr("1048576")));
  client.discard();
  EXPECT_TRUE(larger.failed());
  expect_first(client, fits, 1);
}

TEST_P(MemoryLimits, UploadsKeepWithinTheirStagingBudget) {
  ConnectOptions limited = options();
  limited.staging_budget = 256 * kKiB;
  Client client = connect(limited);
  const Handle x = client.zeros(4 * 4096);
  for (std::uint32_t i = 0; i < 300; ++i) {
    client.upload(x, std::span<const std::uint32_t>(counted(4096, i)));
    for (const PoolReport& pool : client.report().pools) {
      if (pool.name == "upload") {
        ASSERT_LE(pool.reserved, 256 * kKiB);
      }
    }
  }
  expect_words(client.read<std::uint32_t>(x), counted(4096, 299));
}

}  // namespace
}  // namespace berth::conformance
