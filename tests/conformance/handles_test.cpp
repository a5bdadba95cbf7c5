// SPDX-License-Identifier: Apache-2.0
//
// Handles: counts, threads, and the end of their client.
#include <thread>

#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

class Handles : public Conformance {};
BERTH_UNDER_EVERY_POLICY(Handles);

TEST_P(Handles, KnowWhetherTheyAreAlone) {
  const Handle x = empty(4);
  EXPECT_TRUE(x.can_mut());
  {
    const Handle copy = x;  // NOLINT(performance-unnecessary-copy-initialization): it counts
    EXPECT_FALSE(x.can_mut());
    EXPECT_EQ(copy, x);
    EXPECT_EQ(copy.id(), x.id());
  }
  EXPECT_TRUE(x.can_mut());
  {
    const Slice slice = x.slice(0, 8);
    EXPECT_FALSE(x.can_mut());
    EXPECT_EQ(slice.range().bytes, 8U);
  }
  EXPECT_TRUE(x.can_mut());
  EXPECT_NE(empty(4).id(), x.id());
}

TEST_P(Handles, FreeTheirMemoryWhenTheLastOneIsDropped) {
  Handle x = tensor(counted(1000));
  Handle copy = x;
  client().flush();
  EXPECT_EQ(client().report().persistent, 4000U);
  x = {};
  client().flush();
  EXPECT_EQ(client().report().persistent, 4000U);
  copy = {};
  client().flush();
  EXPECT_EQ(client().report().persistent, 0U);
}

TEST_P(Handles, MayBeDroppedOnOtherThreads) {
  for (std::uint32_t round = 0; round < 6; ++round) {
    std::vector<Handle> tensors;
    for (std::uint32_t i = 0; i < 40; ++i) tensors.push_back(tensor(counted(64, i)));
    const Handle sum = client().zeros(4 * 64);
    for (const Handle& x : tensors) {
      client().launch(test::accumulate_kernel(), cover(64, kGroup), {x, sum}, test::Count{64});
    }
    std::vector<Handle> others(tensors.begin() + 20, tensors.end());
    tensors.resize(20);
    std::thread first([dropped = std::move(tensors)]() mutable { dropped.clear(); });
    std::thread second([dropped = std::move(others)]() mutable { dropped.clear(); });
    client().flush();
    first.join();
    second.join();
    expect_words(sum, counted(64, 780, 40));
  }
  client().flush();
  EXPECT_EQ(client().report().persistent, 0U);
}

TEST_P(Handles, OutliveTheirClient) {
  Handle used;
  Handle unused;
  Handle recorded;
  {
    Client client = connect(options());
    used = client.create(counted(64));
    client.flush();
    unused = client.empty(16);
    recorded = client.create(counted(64));
  }
  EXPECT_EQ(used.bytes(), 256U);
  EXPECT_EQ(unused.bytes(), 16U);
  EXPECT_EQ(recorded.bytes(), 256U);
  std::thread([dropped = std::move(used)]() mutable { dropped = {}; }).join();
}

TEST_P(Handles, AndResultsKeepTheDeviceUntilTheyHaveArrived) {
  std::optional<Readback<std::uint32_t>> result;
  bool client_is_there = true;
  {
    Client client = connect(options());
    const Handle x = client.create(counted(64));
    result = client.read<std::uint32_t>(x);
    result->then([&](Readback<std::uint32_t>&) { EXPECT_TRUE(client_is_there); });
  }
  client_is_there = false;
  expect_words(*result, counted(64));
}

TEST_P(Handles, OfACopiedClientBelongToTheSameDevice) {
  Client copy = client();
  const Handle x = copy.create(counted(64));
  const Handle y = empty(64);
  launch_scale(x, y, 64, 2, 0);
  expect_words(copy.read<std::uint32_t>(y), counted(64, 0, 2));
}

}  // namespace
}  // namespace berth::conformance
