// SPDX-License-Identifier: Apache-2.0
#include "memory/drop_queue.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace berth::memory {
namespace {

struct Dropped : DropNode {
  int thread = 0;
  int number = 0;
};

const Dropped& of(const DropNode* node) { return *static_cast<const Dropped*>(node); }

TEST(DropQueue, AnswersOldestFirstAndIsEmptyThen) {
  DropQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.take_all(), nullptr);
  std::vector<Dropped> nodes(3);
  for (int i = 0; i < 3; ++i) {
    nodes[static_cast<std::size_t>(i)].number = i;
    ASSERT_TRUE(queue.push(nodes[static_cast<std::size_t>(i)]));
  }
  EXPECT_FALSE(queue.empty());
  const DropNode* node = queue.take_all();
  for (int i = 0; i < 3; ++i, node = node->next) {
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(of(node).number, i);
  }
  EXPECT_EQ(node, nullptr);
  EXPECT_TRUE(queue.empty());
}

TEST(DropQueue, ClosedTakesNothingMore) {
  DropQueue queue;
  Dropped before;
  Dropped after;
  ASSERT_TRUE(queue.push(before));
  EXPECT_EQ(queue.close(), &before);
  EXPECT_FALSE(queue.push(after));
  EXPECT_EQ(queue.take_all(), nullptr);
  EXPECT_EQ(queue.close(), nullptr);
  EXPECT_TRUE(queue.empty());
}

TEST(DropQueue, LosesNothingWhenSeveralThreadsDropAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 20000;
  DropQueue queue;
  std::vector<std::vector<Dropped>> nodes(kThreads, std::vector<Dropped>(kEach));
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, &mine = nodes[static_cast<std::size_t>(t)], t] {
      for (int i = 0; i < kEach; ++i) {
        Dropped& node = mine[static_cast<std::size_t>(i)];
        node.thread = t;
        node.number = i;
        EXPECT_TRUE(queue.push(node));
      }
    });
  }
  std::vector<int> next(kThreads, 0);
  int seen = 0;
  while (seen < kThreads * kEach) {
    for (const DropNode* node = queue.take_all(); node != nullptr; node = node->next, ++seen) {
      const Dropped& dropped = of(node);
      ASSERT_EQ(dropped.number, next[static_cast<std::size_t>(dropped.thread)]++)
          << "each thread's nodes come in its order";
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace berth::memory
