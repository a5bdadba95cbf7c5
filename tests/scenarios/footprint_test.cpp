// SPDX-License-Identifier: Apache-2.0
//
// How much memory programs take: arenas under the rule, steady state, fragmentation, and the
// statistics of known graphs as golden numbers.
#include <algorithm>

#include "scenario_fixture.hpp"

namespace berth::scenarios {
namespace {

constexpr std::size_t kWords = 16 * 1024;  // 64 KiB
constexpr Bytes kTensor = 4 * kWords;

// S6: sonos/tract PR 2811, linebender/vello PR 364.
TEST_F(Scenarios, S6_ALongChainTakesTheMemoryOfItsWidestPoint) {
  const Handle weights = tensor(counted(kWords, 3));
  client().flush();
  const std::uint64_t promotions = client().report().promotions;
  const Handle start = tensor(counted(kWords));
  Handle x = start;
  Words expected = counted(kWords);
  for (std::uint32_t layer = 0; layer < 40; ++layer) {
    const Handle y = empty(kWords);
    add(client(), x, weights, y, kWords, layer);
    x = y;
    expected = plus(plus(expected, counted(kWords, 3)), layer);
  }
  client().flush();
  const Report report = client().report();
  EXPECT_EQ(report.last_window.tasks, 41U);
  // start and one value: each takes over its input, which nobody holds at the submission.
  EXPECT_EQ(report.last_window.lower_bound, 2 * kTensor);
  // One buffer a tensor would take 41 of them.
  EXPECT_LE(report.last_window.planned_peak, 3 * kTensor);
  EXPECT_EQ(report.last_window.in_place, 38U);
  EXPECT_EQ(report.promotions, promotions) << "no input was bound writable";
  EXPECT_EQ(report.last_window.repairs, 0U);
  expect_words(x, expected);
}

TEST_F(Scenarios, S6_BranchesAndSkipsStayWithinAQuarterOfTheLowerBound) {
  Handle x = tensor(counted(kWords));
  Words expected = counted(kWords);
  for (std::uint32_t block = 0; block < 8; ++block) {
    const Handle skip = x;
    const Handle left = empty(kWords);
    const Handle right = empty(kWords);
    client().launch(fuzz::fork_kernel(), cover(kWords, kGroup), {x, left, right},
                    fuzz::FuzzUniforms{block, kWords});
    const Handle joined = empty(kWords);
    add(client(), left, right, joined, kWords);
    x = empty(kWords);
    add(client(), joined, skip, x, kWords);
    for (std::uint32_t& word : expected) word = (word + block) + (word ^ block) + word;
  }
  const Handle out = empty(64);  // what outlives the window is small: it lies apart
  increment(client(), part(x, 0, 64), out, 64, 0);
  x = {};
  client().flush();
  const WindowReport window = client().report().last_window;
  EXPECT_LE(window.planned_peak, window.lower_bound + window.lower_bound / 4 + 64 * kKiB)
      << window.lower_bound;
  EXPECT_EQ(window.repairs, 0U);
  expected.resize(64);
  expect_words(out, expected);
}

// S7: iree PRs 13965, 13323.
TEST_F(Scenarios, S7_OneProgramRunsEverywhereAndOnlyItsPlacementKnowsTheRule) {
  ConnectOptions least = options();
  least.mode = MemoryMode::least_memory;
  Client own = connect(least);
  const Handle a = own.create(counted(64));
  const Handle b = own.create(counted(64, 5));
  own.flush();
  EXPECT_EQ(pool_of(own.report(), "persistent").pages, 1U);
  const Handle out = own.empty(256);
  add(own, a, b, out, 64);
  own.flush();
  EXPECT_EQ(pool_of(own.report(), "persistent").pages, has_rule() ? 2U : 1U);
  EXPECT_EQ(own.report().last_window.repairs, 0U);
  expect_words(own.read<std::uint32_t>(out), plus(counted(64), counted(64, 5)));
  // As many bindings as the signature has: none were merged to keep the rule.
  std::size_t groups = 0;
  for (const test::Call& call : recording().calls) {
    const auto* group = std::get_if<test::GroupMade>(&call);
    if (group == nullptr || group->entries.size() < 3) continue;
    EXPECT_EQ(group->entries.size(), fuzz::add_kernel().signature().bindings.size());
    ++groups;
  }
  if (buffer_bytes()) {
    EXPECT_GE(groups, 1U);
  }
}

/// A model of four layers; sizes by `scale`.
class Model {
 public:
  Model(Client& client, std::size_t words) : client_(client), words_(words) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      weights_.push_back(client.create(counted(words, i), {.label = "w" + std::to_string(i)}));
    }
    client.flush();
  }
  Handle run(const Words& input, std::size_t words) {
    Handle x = client_.create(input);
    for (const Handle& w : weights_) {
      Handle y = client_.empty(4 * words);
      client_.launch(fuzz::add_kernel(), cover(words, kGroup), {std::move(x), part(w, 0, words), y},
                     fuzz::FuzzUniforms{1, static_cast<std::uint32_t>(words)});
      x = std::move(y);
    }
    return x;
  }
  [[nodiscard]] static Words expected(Words input) {
    for (std::uint32_t i = 0; i < input.size(); ++i) input[i] += 4 * i + (0 + 1 + 2 + 3) + 4;
    return input;
  }

 private:
  Client& client_;
  std::size_t words_;
  std::vector<Handle> weights_;
};

// S10: onnxruntime 29016.
TEST_F(Scenarios, S10_FromTheFourthIdenticalWindowOnNoPageIsMade) {
  Model model(client(), 5000);
  std::uint64_t settled = 0;
  Bytes reserved = 0;
  for (std::uint32_t round = 1; round <= 12; ++round) {
    SCOPED_TRACE(round);
    {
      const Handle out = model.run(counted(5000, round), 5000);
      expect_words(out, Model::expected(counted(5000, round)));
    }
    const Report report = client().report();
    if (round == 3) {
      settled = report.pages_made;
      reserved = report.reserved;
    }
    if (round > 3) {
      EXPECT_EQ(report.pages_made, settled);
      EXPECT_EQ(report.reserved, reserved);
      EXPECT_EQ(report.last_window.pages_made, 0U);
    }
  }
}

// S33: stable-diffusion.cpp 1473.
TEST_F(Scenarios, S33_AnotherSizeEveryStepMakesNoPageOnceTheLargestWasSeen) {
  constexpr std::size_t kLargest = 9000;
  Model model(client(), kLargest);
  const auto step = [&](std::size_t words, std::uint32_t seed) {
    const Handle out = model.run(counted(words, seed), words);
    expect_words(out, Model::expected(counted(words, seed)));
  };
  for (std::uint32_t i = 0; i < 3; ++i) step(kLargest, i);
  const std::uint64_t pages = client().report().pages_made;
  for (std::uint32_t i = 0; i < 24; ++i) {
    SCOPED_TRACE(i);
    step(1 + (std::size_t{i} * 2741) % kLargest, i);
    ASSERT_EQ(client().report().pages_made, pages);
  }
}

TEST_F(Scenarios, S33_MoreOrFewerNodesUnderTheSamePeakMakeNoPage) {
  const Handle w = tensor(counted(kWords));
  client().flush();
  const auto step = [&](std::uint32_t nodes) {
    Handle x = tensor(counted(kWords, nodes));
    Words expected = counted(kWords, nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const Handle y = empty(kWords);
      add(client(), x, w, y, kWords);
      x = y;
      expected = plus(expected, counted(kWords));
    }
    expect_words(x, expected);
  };
  for (int i = 0; i < 3; ++i) step(12);
  const std::uint64_t pages = client().report().pages_made;
  for (const std::uint32_t nodes : {11U, 13U, 5U, 12U, 14U, 3U, 9U}) {
    step(nodes);
    EXPECT_EQ(client().report().pages_made, pages) << nodes;
  }
}

// S27: pytorch 35901, 31252, 96995.
TEST_F(Scenarios, S27_SmallSurvivorsHoldNoLargePage) {
  std::vector<Handle> survivors;
  for (std::uint32_t round = 0; round < 10; ++round) {
    // Large transients with a small survivor made between them.
    Handle large = empty(8 * kWords);
    client().fill(large, round);
    survivors.push_back(empty(64));
    increment(client(), part(large, 0, 64), survivors.back(), 64, 1);
    Handle other = empty(8 * kWords);
    increment(client(), large, other, 8 * kWords, 1);
    large = {};
    other = {};
    client().flush();
  }
  client().sync();
  const Report report = client().report();
  EXPECT_EQ(pool_of(report, "transient").live, 0U) << "only persistent pages hold data";
  client().trim();
  const Bytes small = survivors.size() * 256;
  EXPECT_EQ(client().report().live, small);
  EXPECT_LE(client().report().reserved, 4 * 64 * kKiB)
      << "the large pages go back whatever survived: " << to_text(client().report());
  for (std::uint32_t round = 0; round < 10; ++round) {
    expect_words(survivors[round], Words(64, round + 1));
  }
}

TEST_F(Scenarios, S27_TheNextLargeRequestFindsTheIdleBytes) {
  std::vector<Handle> survivors;
  std::uint64_t settled = 0;
  for (std::uint32_t round = 0; round < 8; ++round) {
    const Handle large = empty(8 * kWords);
    client().fill(large, round);
    const Handle small = empty(16);
    increment(client(), part(large, 0, 16), small, 16, 0);
    survivors.push_back(small);
    client().flush();
    if (round == 2) settled = client().report().reserved;
  }
  EXPECT_EQ(client().report().reserved, settled);
}

// S29: tracel-ai/burn PR 5138.
TEST_F(Scenarios, S29_TheStatisticsOfKnownGraphsAreGolden) {
  const auto flushed = [&] {
    client().flush();
    return client().report().last_window;
  };
  const auto take = [&](const Handle& x, std::uint32_t value) {  // ends a graph in a small tensor
    Handle out = empty(64);
    increment(client(), part(x, 0, 64), out, 64, value);
    return out;
  };
  {
    SCOPED_TRACE("a chain whose values are handed over");
    Handle x = tensor(counted(kWords));
    for (std::uint32_t i = 0; i < 6; ++i) {
      Handle y = empty(kWords);
      increment(client(), std::move(x), y, kWords, i);
      x = std::move(y);
    }
    const Handle out = take(x, 1);
    x = {};
    const WindowReport w = flushed();
    EXPECT_EQ(w.in_place, 6U);
    EXPECT_EQ(w.lower_bound, kTensor + 256);
    EXPECT_EQ(w.planned_peak, kTensor + 256);  // out has a page of its own
    EXPECT_EQ(w.pages, 2U);
    EXPECT_EQ(w.repairs, 0U);
    expect_words(out, counted(64, 16));
  }
  {
    SCOPED_TRACE("the same with every value still held");
    std::vector<Handle> x = {tensor(counted(kWords))};
    for (std::uint32_t i = 0; i < 6; ++i) {
      x.push_back(empty(kWords));
      increment(client(), x[i], x[i + 1], kWords, i);
    }
    const WindowReport w = flushed();
    EXPECT_EQ(w.in_place, 0U);
    EXPECT_EQ(w.planned_peak, 7 * kTensor);
    expect_words(x[6], counted(kWords, 15));
  }
  for (const bool second : {false, true}) {
    SCOPED_TRACE("either input may be taken over");
    const Handle held = tensor(counted(kWords, 1));
    Handle a = tensor(counted(kWords));
    Handle sum = empty(kWords);
    if (second) {
      add(client(), held, std::move(a), sum, kWords);
    } else {
      add(client(), std::move(a), held, sum, kWords);
    }
    const Handle out = take(sum, 0);
    sum = {};
    EXPECT_EQ(flushed().in_place, 1U);
    expect_words(out, counted(64, 1, 2));
    expect_words(held, counted(kWords, 1));
  }
  {
    SCOPED_TRACE("a held one never");
    const Handle a = tensor(counted(kWords));
    Handle sum = empty(kWords);
    add(client(), a, a, sum, kWords);
    const Handle out = take(sum, 0);
    sum = {};
    EXPECT_EQ(flushed().in_place, 0U);
    expect_words(out, counted(64, 0, 2));
    expect_words(a, counted(kWords));
  }
}

// Issue 5, show 6.
TEST_F(Scenarios, S10_ATrainingStepNeedsNoRepairAndNoPageFromItsFourthRoundOn) {
  constexpr std::size_t kLayers = 5;
  constexpr std::size_t kSize = 3000;
  std::vector<Handle> weights;
  std::vector<Handle> moments;
  std::vector<Words> w(kLayers);
  std::vector<Words> m(kLayers, Words(kSize, 0));
  for (std::size_t i = 0; i < kLayers; ++i) {
    w[i] = counted(kSize, static_cast<std::uint32_t>(i));
    weights.push_back(tensor(w[i], "w" + std::to_string(i)));
    moments.push_back(client().zeros(4 * kSize, {.label = "m" + std::to_string(i)}));
  }
  client().flush();
  std::uint64_t pages = 0;
  std::uint64_t repairs = 0;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    SCOPED_TRACE(round);
    // Forward, with the values kept for the way back; backward; update of moments and weights.
    std::vector<Handle> x = {tensor(counted(kSize, round))};
    std::vector<Words> on_x = {counted(kSize, round)};
    for (std::size_t i = 0; i < kLayers; ++i) {
      x.push_back(empty(kSize));
      add(client(), x[i], weights[i], x[i + 1], kSize);
      on_x.push_back(plus(on_x[i], w[i]));
    }
    Handle gradient = empty(kSize);
    increment(client(), x[kLayers], gradient, kSize, 1);
    Words on_gradient = plus(on_x[kLayers], 1);
    for (std::size_t i = kLayers; i-- > 0;) {
      const Handle of_weight = empty(kSize);
      add(client(), x[i], gradient, of_weight, kSize);
      const Words on_weight = plus(on_x[i], on_gradient);
      if (i != 0) {
        const Handle next = empty(kSize);
        add(client(), gradient, weights[i], next, kSize);
        on_gradient = plus(on_gradient, w[i]);
        gradient = next;
      }
      accumulate(client(), of_weight, moments[i], kSize);
      m[i] = plus(m[i], on_weight);
      accumulate(client(), moments[i], weights[i], kSize);
      w[i] = plus(w[i], m[i]);
    }
    // The loss is read, as in every loop that trains.
    const auto loss = client().read<std::uint32_t>(part(x[kLayers], 0, 1));
    x.clear();
    gradient = {};
    client().step_end();
    expect_words(loss, {on_x[kLayers][0]});
    const Report report = client().report();
    if (round == 3) {
      pages = report.pages_made;
      repairs = repairs_of(report);
    }
    if (round > 3) {
      EXPECT_EQ(report.last_window.repairs, 0U);
      EXPECT_EQ(repairs_of(report), repairs);
      EXPECT_EQ(report.pages_made, pages) << to_text(report);
    }
    if (HasFailure()) return;
  }
  for (std::size_t i = 0; i < kLayers; ++i) {
    expect_words(weights[i], w[i]);
    expect_words(moments[i], m[i]);
  }
}

}  // namespace
}  // namespace berth::scenarios
