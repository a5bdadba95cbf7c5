// SPDX-License-Identifier: Apache-2.0
//
// The case that started it all: `out = empty(); launch(zeros, out); launch(custom, a, b, c, out)`,
// where custom writes out sparsely. When zeros is placed, no conflict with a, b and c shows.
#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

constexpr std::size_t kWords = 1000;
enum FlushAfter : std::uint32_t { kA = 1, kB = 2, kC = 4, kEmpty = 8, kZeros = 16, kCustom = 32 };

/// The case on one client.
struct Case {
  Client client;

  Handle make(const Words& words, const std::string& label) {
    return client.create(words, {.label = label});
  }
  Handle a() { return make(counted(kWords), "a"); }
  Handle b() { return make(counted(kWords, 100), "b"); }
  Handle c() { return make(counted(kWords, 7, 3), "c"); }
  Handle empty() { return client.empty(4 * kWords, {.label = "out"}); }
  void zeros(const Handle& out) {
    client.launch(test::zeros_kernel(), cover(kWords, kGroup), {out}, test::Count{kWords});
  }
  void custom(const Handle& in_a, const Handle& in_b, const Handle& in_c, const Handle& out) {
    client.launch(test::sparse_kernel(), cover(kWords, kGroup), {in_a, in_b, in_c, out},
                  test::Count{kWords});
  }
  void flush_if(std::uint32_t when, FlushAfter here) {
    if ((when & here) != 0) client.flush();
  }
  /// What custom makes of zeros.
  static Words result() {
    Words out(kWords, 0);
    for (std::uint32_t i = 1; i < kWords; i += 2) out[i] = (i + 100) + (i * 3 + 7);
    return out;
  }
};

class SeedCase : public Conformance {
 protected:
  /// On a client that packs tensors together instead of spreading them for overlap.
  [[nodiscard]] Case packed() const {
    ConnectOptions least = options();
    least.mode = MemoryMode::least_memory;
    return {connect(least)};
  }
  [[nodiscard]] std::uint32_t pages_of_one_window() const {
    return policy() == Policy::exclusive ? 3U : 1U;
  }
  static std::uint32_t pages_with_tensors(const Client& client) {
    std::uint32_t pages = 0;
    for (const PoolReport& pool : client.report().pools) {
      const bool tensors =
          pool.name == "persistent" || pool.name == "sliced" || pool.name == "exclusive";
      if (tensors && pool.live != 0) pages += pool.pages;
    }
    return pages;
  }
};
BERTH_UNDER_EVERY_POLICY(SeedCase);

TEST_P(SeedCase, IsRightWithAFlushAtEveryPossiblePoint) {
  Case on{client()};
  for (std::uint32_t when = 0; when < 64 && !HasFailure(); ++when) {
    SCOPED_TRACE(when);
    const Handle a = on.a();
    on.flush_if(when, kA);
    const Handle b = on.b();
    on.flush_if(when, kB);
    const Handle c = on.c();
    on.flush_if(when, kC);
    const Handle out = on.empty();
    on.flush_if(when, kEmpty);
    on.zeros(out);
    on.flush_if(when, kZeros);
    on.custom(a, b, c, out);
    on.flush_if(when, kCustom);
    const auto result = client().read<std::uint32_t>({out, a, b, c});
    expect_words(result, Case::result(), 0);
    expect_words(result, counted(kWords), 1);
    expect_words(result, counted(kWords, 100), 2);
    expect_words(result, counted(kWords, 7, 3), 3);
  }
}

TEST_P(SeedCase, IsRightWithItsInputsPlacedEarlierOnOnePage) {
  Case on = packed();
  const Handle a = on.a();
  const Handle b = on.b();
  const Handle c = on.c();
  on.client.sync();
  EXPECT_EQ(pages_with_tensors(on.client), pages_of_one_window());
  for (const std::uint32_t when : {0U, std::uint32_t{kEmpty}, std::uint32_t{kZeros},
                                   std::uint32_t{kEmpty | kZeros | kCustom}}) {
    const Handle out = on.empty();
    on.flush_if(when, kEmpty);
    on.zeros(out);
    on.flush_if(when, kZeros);
    on.custom(a, b, c, out);
    on.flush_if(when, kCustom);
    expect_words(on.client.read<std::uint32_t>(out), Case::result());
  }
}

TEST_P(SeedCase, IsRightWithInputsAndOutputPlacedEarlierOnOnePage) {
  Case on = packed();
  const Handle a = on.a();
  const Handle b = on.b();
  const Handle c = on.c();
  const Handle out = on.empty();
  on.zeros(out);
  on.client.flush();
  on.custom(a, b, c, out);
  on.client.flush();
  const std::uint64_t first = on.client.report().relocations;
  // Under read_write the dispatch is bound all read_write instead.
  const bool moves = has_rule() && (policy() == Policy::window || policy() == Policy::per_task);
  EXPECT_EQ(first != 0, moves) << first;
  on.custom(a, b, c, out);  // apart for good
  on.client.flush();
  EXPECT_EQ(on.client.report().relocations, first);
  expect_words(on.client.read<std::uint32_t>(out), Case::result());
  expect_words(on.client.read<std::uint32_t>(a), counted(kWords));
}

TEST_P(SeedCase, MayChangeRolesBetweenItsTensors) {
  Case on = packed();
  const std::vector<Handle> t = {on.a(), on.b(), on.c(), on.make(Words(kWords, 0), "d")};
  std::vector<Words> expected = {counted(kWords), counted(kWords, 100), counted(kWords, 7, 3),
                                 Words(kWords, 0)};
  for (std::uint32_t round = 0; round < 16; ++round) {
    const std::size_t written = round % 4;
    const std::size_t read = (written + 1 + round / 4 % 3) % 4;
    on.client.launch(test::accumulate_kernel(), cover(kWords, kGroup), {t[read], t[written]},
                     test::Count{kWords});
    for (std::size_t i = 0; i < kWords; ++i) expected[written][i] += expected[read][i];
    if (round % 3 == 2) on.client.flush();
  }
  for (std::size_t i = 0; i < 4; ++i) {
    expect_words(on.client.read<std::uint32_t>(t[i]), expected[i]);
  }
}

}  // namespace
}  // namespace berth::conformance
