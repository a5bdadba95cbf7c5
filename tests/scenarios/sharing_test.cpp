// SPDX-License-Identifier: Apache-2.0
//
// Tensors that meet in one buffer: disjoint ranges, the same bytes read twice, an output over an
// input, small neighbours, inputs that must stay read-only.
#include <array>
#include <random>
#include <set>

#include "scenario_fixture.hpp"

namespace berth::scenarios {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// S1: gfx-rs/wgpu 8470.
TEST_F(Scenarios, S1_APartOfATensorIsReadWhileAnotherPartIsWritten) {
  constexpr std::size_t kPart = 64;
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      for (const bool placed_before : {false, true}) {
        SCOPED_TRACE(testing::Message() << from << " to " << to << placed_before);
        Words expected = counted(4 * kPart, 1);
        const Handle x = tensor(expected);
        if (placed_before) client().flush();
        increment(client(), part(x, from * kPart, kPart), part(x, to * kPart, kPart), kPart, 7);
        for (std::size_t i = 0; i < kPart; ++i) {
          expected[to * kPart + i] = expected[from * kPart + i] + 7;
        }
        expect_words(x, expected);
      }
    }
  }
}

TEST_F(Scenarios, S1_TensorsThatCameToLieOnOnePageTakeAnyRolesLater) {
  constexpr std::size_t kWords = 100;
  ConnectOptions least = options();
  least.mode = MemoryMode::least_memory;
  Client own = connect(least);
  std::vector<Handle> t;
  std::vector<Words> expected;
  for (std::uint32_t i = 0; i < 4; ++i) {
    expected.push_back(counted(kWords, i * 1000));
    t.push_back(own.create(expected.back()));
  }
  own.flush();  // one page: nothing kept them apart
  EXPECT_EQ(pool_of(own.report(), "persistent").pages, 1U);
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      accumulate(own, t[from], t[to], kWords);
      expected[to] = plus(expected[to], expected[from]);
      own.flush();
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    expect_words(own.read<std::uint32_t>(t[i]), expected[i]);
  }
  EXPECT_EQ(repairs_of(own.report()) != 0, has_rule());
}

TEST_F(Scenarios, S1_RangesThatReallyMeetAreRefusedAtTheCallAndBothAreNamed) {
  const Handle x = tensor(counted(256), "shared");
  client().flush();
  const std::uint64_t windows = client().report().windows;
  const std::string message = error_of(ErrorCode::invalid_argument, [&] {
    accumulate(client(), part(x, 0, 128), part(x, 64, 128), 128);
  });
  EXPECT_THAT(message, AllOf(HasSubstr("shared"), HasSubstr("'a'"), HasSubstr("'x'")));
  client().flush();
  EXPECT_EQ(client().report().windows, windows) << "a refused launch records nothing";
  expect_words(x, counted(256));
}

TEST_F(Scenarios, S1_WithRepairsForbiddenAConflictIsAClearErrorBeforeTheDeviceSeesIt) {
  if (!has_rule()) GTEST_SKIP() << "There is no rule that two parts of a tensor could break.";
  ConnectOptions strict = options();
  strict.repairs = Repairs::forbidden;
  Client own = connect(strict);
  const Handle x = own.create(counted(256), {.label = "shared"});
  own.flush();
  // A kernel without promoted form: only a copy could help.
  own.launch(residual_kernel(), Grid{1}, {part(x, 0, 64), part(x, 128, 3)});
  const std::string message = error_of(ErrorCode::unsupported, [&] { own.flush(); });
  EXPECT_THAT(message, AllOf(HasSubstr("read"), HasSubstr("write"), HasSubstr("one page")));
  own.discard();
  EXPECT_TRUE(x.failed());
}

// S2: llama.cpp PR 24000.
TEST_F(Scenarios, S2_TheSameBytesMayBeReadThroughSeveralBindings) {
  constexpr std::size_t kWords = 128;
  const Words data = counted(4 * kWords, 5);
  const Handle x = tensor(data);
  for (const bool placed_before : {true, false}) {
    for (const std::size_t second : {std::size_t{0}, kWords / 2, kWords, std::size_t{13}}) {
      SCOPED_TRACE(second);
      if (placed_before) client().flush();
      const Handle out = empty(kWords);
      add(client(), part(x, 0, kWords), part(x, second, kWords), out, kWords);
      Words expected(kWords);
      for (std::size_t i = 0; i < kWords; ++i) expected[i] = data[i] + data[second + i];
      expect_words(out, expected);
    }
  }
  const Report before = client().report();
  const Handle out = empty(4 * kWords);
  add(client(), x, x, out, 4 * kWords);
  expect_words(out, plus(data, data));
  EXPECT_EQ(repairs_of(client().report()), repairs_of(before))
      << "duplicates are legal as they are";
}

TEST_F(Scenarios, S2_AConcatOfOneRegionWithItselfIsRight) {
  constexpr std::size_t kWords = 192;
  const Words data = counted(kWords, 9);
  for (const bool by_kernel : {true, false}) {
    const Handle x = tensor(data);
    const Handle out = empty(2 * kWords);
    for (const std::size_t first : {std::size_t{0}, kWords}) {
      if (by_kernel) {
        increment(client(), x, part(out, first, kWords), kWords, 0);
      } else {
        client().copy(x, part(out, first, kWords));
      }
    }
    Words expected = data;
    expected.insert(expected.end(), data.begin(), data.end());
    expect_words(out, expected);
  }
}

// S3: llama.cpp PR 22266.
TEST_F(Scenarios, S3_AnOutputMayBeAnyOfItsInputs) {
  constexpr std::size_t kWords = 300;
  const Words a_data = counted(kWords, 1);
  const Words b_data = counted(kWords, 7, 3);
  enum Case : std::uint8_t { none, a_is_out, b_is_out, a_is_b, all };
  for (const Case which : {none, a_is_out, b_is_out, a_is_b, all}) {
    for (std::uint32_t given = 0; given < 4; ++given) {
      for (const bool placed_before : {false, true}) {
        SCOPED_TRACE(testing::Message() << int{which} << " " << given << " " << placed_before);
        Handle a = tensor(a_data, "a");
        Handle b = which == a_is_b || which == all ? a : tensor(b_data, "b");
        const Words expected = plus(plus(a_data, b == a ? a_data : b_data), 3);
        const Handle out = which == a_is_out || which == all ? a
                           : which == b_is_out               ? b
                                                             : empty(kWords, "out");
        const Handle a_kept = (given & 1) != 0 ? Handle{} : a;
        const Handle b_kept = (given & 2) != 0 ? Handle{} : b;
        if (placed_before) client().flush();
        const auto give = [](Handle& h, bool moved) {
          return moved ? Binding(std::move(h)) : Binding(h);
        };
        add(client(), give(a, (given & 1) != 0), give(b, (given & 2) != 0), out, kWords, 3);
        expect_words(out, expected);
        if (a_kept && a_kept != out) expect_words(a_kept, a_data);
        if (b_kept && b_kept != out) expect_words(b_kept, which == a_is_b ? a_data : b_data);
      }
    }
  }
}

TEST_F(Scenarios, S3_OnlyADeclaredPairIsComputedInPlace) {
  constexpr std::uint32_t kWords = 200;
  std::uint32_t sum = 0;
  for (const std::uint32_t word : counted(kWords, 1)) sum += word;
  Words expected(kWords);
  for (std::uint32_t i = 0; i < kWords; ++i) expected[i] = i * sum;
  for (const bool given : {false, true}) {
    // products reads all of x for each element: over its input it would be wrong.
    Handle x = tensor(counted(kWords, 1));
    const Handle out = given ? empty(kWords) : x;
    if (given) {
      client().launch(test::products_kernel(), cover(kWords, kGroup), {std::move(x), out},
                      test::Products{kWords, kWords});
    } else {
      client().launch(test::products_kernel(), cover(kWords, kGroup), {x, out},
                      test::Products{kWords, kWords});
    }
    client().flush();
    EXPECT_EQ(client().report().last_window.in_place, 0U);
    expect_words(out, expected);
  }
}

// S4: llama.cpp PR 25931.
void neighbours(Client& client, std::uint64_t seed, std::uint32_t operations) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  constexpr std::size_t kTensors = 5;
  constexpr std::size_t kWords = 160;
  std::vector<Handle> t;
  std::vector<Words> expected;
  for (std::uint32_t i = 0; i < kTensors; ++i) {
    // Also small ones, which lie close together.
    expected.push_back(counted(i < 3 ? kWords : 1 + i, i * 1000));
    t.push_back(client.create(expected.back()));
  }
  for (std::uint32_t k = 0; k < operations; ++k) {
    const std::size_t a = below(kTensors);
    const std::size_t x = below(kTensors);
    const std::size_t most = std::min(expected[a].size(), expected[x].size());
    const std::size_t n = 1 + below(std::min<std::size_t>(most, 40));
    const std::size_t from = below(expected[a].size() - n + 1);
    const std::size_t to = below(expected[x].size() - n + 1);
    if (a == x && from < to + n && to < from + n) continue;
    const std::uint32_t value = k;
    if (k % 2 == 0) {
      client.launch(fuzz::increment_kernel(), cover(n, kGroup),
                    {part(t[a], from, n), part(t[x], to, n)},
                    fuzz::FuzzUniforms{value, static_cast<std::uint32_t>(n)});
      for (std::size_t i = 0; i < n; ++i) expected[x][to + i] = expected[a][from + i] + value;
    } else {
      client.launch(fuzz::accumulate_kernel(), cover(n, kGroup),
                    {part(t[a], from, n), part(t[x], to, n)},
                    fuzz::FuzzUniforms{0, static_cast<std::uint32_t>(n)});
      for (std::size_t i = 0; i < n; ++i) expected[x][to + i] += expected[a][from + i];
    }
    if (below(6) == 0) client.flush();
  }
  for (std::size_t i = 0; i < kTensors; ++i) {
    const Words found = client.read<std::uint32_t>(t[i]).get();
    if (conformance::runtime_under_test().data == conformance::Data::computed) {
      EXPECT_EQ(found, expected[i]) << "seed " << seed << ", tensor " << i;
    }
  }
}

TEST_F(Scenarios, S4_SmallNeighboursAtAnyOffsetNeverOverlapInADispatch) {
  // The judge looks at each dispatch's ranges as the device rounds them.
  for (std::uint64_t seed = 1; seed <= 12; ++seed) neighbours(client(), seed, 40);
}

TEST_F(Scenarios, S4_AProgramThatWorksAtTheDevicesAlignmentWorksAtThePortableOne) {
  ConnectOptions portable = options();
  portable.limits.offset_alignment = 256;
  Client own = connect(portable);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) neighbours(own, seed, 40);
}

// S8: apache/tvm PR 20113.
TEST_F(Scenarios, S8_ABarrierUnderABranchOnAnInputIsFineWhereverTheInputLies) {
  constexpr std::uint32_t kWords = 128;
  const auto branched = [](Words x, bool reversed) {
    if (!reversed) return x;
    std::reverse(x.begin(), x.begin() + 64);
    std::reverse(x.begin() + 64, x.end());
    return x;
  };
  for (const Kernel* kernel : {&test::branch_kernel(), &promotable_branch_kernel()}) {
    for (const std::uint32_t flag : {0U, 1U}) {
      for (const bool placed_before : {false, true}) {
        SCOPED_TRACE(testing::Message() << kernel->name() << flag << placed_before);
        // Flag, input and output in one tensor: a repair is needed, and a promotion may be refused.
        const Handle all = client().empty(Bytes{4} * 3 * kWords);
        client().upload(part(all, 0, 1), std::span<const std::uint32_t>(Words{flag}));
        client().upload(part(all, kWords, kWords), std::span<const std::uint32_t>(counted(kWords)));
        if (placed_before) client().flush();
        client().launch(*kernel, cover(kWords, kGroup),
                        {part(all, 0, 1), part(all, kWords, kWords), part(all, 2 * kWords, kWords)},
                        test::Count{kWords});
        expect_words(part(all, 2 * kWords, kWords), branched(counted(kWords), flag != 0));
        // And as tensors of their own.
        const Handle f = tensor({flag});
        const Handle x = tensor(counted(kWords));
        const Handle out = client().zeros(Bytes{4} * kWords);
        if (placed_before) client().flush();
        client().launch(*kernel, cover(kWords, kGroup), {f, x, out}, test::Count{kWords});
        expect_words(out, branched(counted(kWords), flag != 0));
      }
    }
  }
}

TEST_F(Scenarios, S8_NoInputOfAConflictFreeProgramIsBoundWritable) {
  constexpr std::size_t kWords = 100;
  const std::uint64_t before = client().report().promotions;
  const Handle weights = tensor(counted(kWords));
  Handle x = tensor(counted(kWords, 3));
  for (int layer = 0; layer < 10; ++layer) {
    const Handle y = empty(kWords);
    add(client(), x, weights, y, kWords);
    x = y;
  }
  client().flush();
  EXPECT_EQ(client().report().promotions, before);
  // The judge has every dispatch's declaration: a read binding that is writable would fail there.
}

}  // namespace
}  // namespace berth::scenarios
