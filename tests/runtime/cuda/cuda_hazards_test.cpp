// SPDX-License-Identifier: Apache-2.0
//
// Edges of a program's graph: a table by hand, random programs against the definition, and whole
// programs whose nodes run in random orders within those edges.
#include "runtime/cuda/cuda_hazards.hpp"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "runtime/cuda/cuda_fixture.hpp"

namespace berth::runtime::cuda_test {

namespace {

using Bound = ProgramBuilder::Bound;
using Edges = std::vector<std::vector<std::uint32_t>>;

/// Foreign commands carry any bindings.
Edges edges_of(const std::vector<std::vector<Bound>>& commands,
               const std::vector<std::uint64_t>& pages) {
  ProgramBuilder b;
  std::vector<memory::PageHandle> handles;
  for (const std::uint64_t page : pages) {
    b.page(1024);
    handles.push_back({page});
  }
  for (const std::vector<Bound>& command : commands) b.foreign(command);
  return cuda::dependencies_of(*b.program(), handles);
}

Bound in(Bytes offset, Bytes bytes, std::uint32_t page = 0) { return {page, offset, bytes}; }
Bound out(Bytes offset, Bytes bytes, std::uint32_t page = 0) {
  return {page, offset, bytes, Access::write};
}

bool conflict(const std::vector<Bound>& a, const std::vector<Bound>& b) {
  for (const Bound& x : a) {
    for (const Bound& y : b) {
      if (x.page == y.page && (writes(x.access) || writes(y.access)) &&
          Range{x.offset, x.bytes}.overlaps({y.offset, y.bytes})) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST(Hazards, OrderReadsAfterWritesAndWritesAfterBoth) {
  EXPECT_EQ(edges_of({{out(0, 64)},
                      {out(64, 64)},
                      {in(32, 64), out(128, 4)},
                      {out(0, 64)},
                      {in(0, 32)},
                      {out(0, 128)}},
                     {7}),
            (Edges{{}, {}, {0, 1}, {2}, {3}, {4}}));
}

TEST(Hazards, LeaveReadersAndDisjointRangesApart) {
  EXPECT_EQ(
      edges_of({{in(0, 64)}, {in(0, 64)}, {out(64, 64)}, {out(128, 64)}, {out(0, 4, 1)}}, {7, 8}),
      (Edges{{}, {}, {}, {}, {}}));
}

TEST(Hazards, SeeThatTwoSymbolicPagesAreOne) {
  EXPECT_EQ(edges_of({{out(0, 64, 0)}, {in(0, 64, 1)}}, {7, 7}), (Edges{{}, {0}}));
}

TEST(Hazards, ACommandDoesNotWaitForItself) {
  EXPECT_EQ(edges_of({{out(0, 64), in(0, 64), out(0, 64)}}, {7}), (Edges{{}}));
}

TEST(Hazards, AreAllOfTheDefinitionAndNoneTwice) {
  std::mt19937 random(3);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<Bound>> commands(2 + below(20));
    for (auto& command : commands) {
      for (std::uint32_t i = 1 + below(3); i > 0; --i) {
        const Bytes offset = Bytes{4} * below(20);
        const Access access = std::array{Access::read, Access::write, Access::read_write}[below(3)];
        command.push_back({below(2), offset, 4 + 4 * below(12), access});
      }
    }
    const Edges edges = edges_of(commands, {5, 6});
    std::vector<std::set<std::uint32_t>> reach(commands.size());
    for (std::uint32_t i = 0; i < commands.size(); ++i) {
      for (const std::uint32_t earlier : edges[i]) {
        EXPECT_TRUE(conflict(commands[earlier], commands[i])) << earlier << " -> " << i;
        EXPECT_FALSE(reach[i].contains(earlier)) << earlier << " -> " << i << " is implied";
        reach[i].insert(earlier);
        reach[i].insert(reach[earlier].begin(), reach[earlier].end());
      }
      // Descending would find implied ones too: ask again with all edges known.
      for (const std::uint32_t earlier : edges[i]) {
        for (const std::uint32_t other : edges[i]) {
          EXPECT_FALSE(other != earlier && reach[other].contains(earlier));
        }
      }
      for (std::uint32_t earlier = 0; earlier < i; ++earlier) {
        EXPECT_TRUE(reach[i].contains(earlier) || !conflict(commands[earlier], commands[i]))
            << "round " << round << ": " << earlier << " -> " << i << " is missing";
      }
    }
  }
}

using RandomGraphs = FakeCuda;

TEST_F(RandomGraphs, ComputeWhatTheStreamComputes) {
  std::mt19937 random(11);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  constexpr std::uint32_t kSlices = 6;
  constexpr std::uint32_t kN = 64;
  constexpr Bytes kBytes = Bytes{kN} * 4;
  const auto on_stream = connect(0);
  const auto as_graph = connect(1);
  for (std::uint32_t round = 0; round < 40; ++round) {
    ProgramBuilder b;
    b.page(kSlices * kBytes);
    b.upload({0, 0, kSlices * kBytes, Access::write});
    for (std::uint32_t i = 5 + below(20); i > 0; --i) {
      const Bytes x = below(kSlices) * kBytes;
      const Bytes y = (x + (1 + below(kSlices - 1)) * kBytes) % (kSlices * kBytes);
      switch (below(5)) {
        case 0:
          b.dispatch(test::scale_kernel(), {1, 1, 1},
                     {{0, x, kBytes}, {0, y, kBytes, Access::write}}, test::Scale{3 + i, i, kN});
          break;
        case 1:
          b.dispatch(test::accumulate_kernel(), {1, 1, 1},
                     {{0, x, kBytes}, {0, y, kBytes, Access::read_write}}, test::Count{kN});
          break;
        case 2:
          b.dispatch(test::bump_kernel(), {1, 1, 1}, {{0, x, kBytes, Access::read_write}},
                     test::Scale{5, i, kN});
          break;
        case 3:
          b.copy({0, x, kBytes / 2}, {0, y, kBytes / 2, Access::write});
          break;
        default:
          b.fill({0, y, kBytes / 4, Access::write});
          break;
      }
    }
    b.readback({0, 0, kSlices * kBytes});
    fake().set_seed(round);
    Words input(std::size_t{kSlices} * kN);
    for (std::uint32_t& word : input) word = static_cast<std::uint32_t>(random());
    Running one(*on_stream, b, input.size());
    Running other(*as_graph, b, input.size());
    one.put(0, input);
    other.put(0, input);
    one.submit();
    other.submit();
    ASSERT_EQ(one.take(0), other.take(0)) << "round " << round;
  }
}

}  // namespace berth::runtime::cuda_test
