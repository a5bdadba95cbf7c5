// SPDX-License-Identifier: Apache-2.0
//
// Both placers against the real manager on a fake device: what is mapped where, what is given back,
// and that a failure leaves no trace. Every plan is put before the checker.
#include "client/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <variant>

#include "berth/error.hpp"
#include "fake_backend.hpp"
#include "window_table.hpp"

namespace berth::client {
namespace {

using enum Access;

class Placing : public testing::TestWithParam<Policy> {
 protected:
  Placing() { options.policy = GetParam(); }
  ~Placing() override { t.window.clear(1000); }

  memory::Manager& manager() {
    if (!manager_) {
      memory::ManagerOptions made;
      made.mapped_to =
          GetParam() == Policy::exclusive ? memory::PoolKind::exclusive : memory::PoolKind::sliced;
      made.sliced.alignment = backend.can.limits.offset_alignment;
      storage.emplace(backend, kWholeSize);
      manager_.emplace(*storage, backend.device, made);
    }
    return *manager_;
  }
  /// Places the window; what is placed is checked.
  Placed place(const std::string& held) {
    std::vector<TensorFacts> facts(t.window.tensors().size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      facts[i].held = held.find(t.window.tensors()[i]->label) != std::string::npos;
    }
    const PlacementInput input{t.window, facts, backend, options, seams};
    Placed placed = GetParam() == Policy::window ? place_planned(input, manager())
                                                 : place_registered(input, manager());
    if (const auto* placement = std::get_if<Placement>(&placed)) {
      for (const plan::Violation& broken :
           plan::check(placement->repaired.problem, placement->plan)) {
        ADD_FAILURE() << broken.message;
      }
    }
    return placed;
  }
  /// Places and settles as a submission does. Returns: the repairs.
  std::size_t run(const std::string& held) {
    Placement placement;
    {
      memory::Transaction transaction(manager());
      Placed placed = place(held);
      if (!std::holds_alternative<Placement>(placed)) {
        ADD_FAILURE() << std::get<memory::StorageFailure>(placed).message;
        return 0;
      }
      placement = std::get<Placement>(std::move(placed));
      transaction.commit(placement.pages, ++ticket);
    }
    manager().give_back(placement.lent);
    for (const memory::TensorSlot slot : placement.dead) manager().drop(slot);
    for (std::size_t i = 0; i < t.window.tensors().size(); ++i) {
      t.window.tensors()[i]->slot = placement.slots[i].value;
    }
    backend.device.done = ticket;
    t.window.clear(++serial);
    EXPECT_EQ(manager().check(), std::nullopt);
    return placement.repaired.repairs.size();
  }
  [[nodiscard]] std::optional<memory::Slice> place_of(char name) {
    const memory::TensorSlot slot(t.at(name).slot);
    return slot.valid() ? manager().place_of(slot) : std::nullopt;
  }
  void drop(char name) {
    manager().drop(memory::TensorSlot(t.at(name).slot));
    t.at(name).slot = ~0U;
  }
  [[nodiscard]] bool shares(char a, char b) { return place_of(a)->page == place_of(b)->page; }

  WindowTable t;
  FakeBackend backend;
  ConnectOptions options;
  Seams seams;
  std::optional<memory::Storage> storage;
  std::optional<memory::Manager> manager_;
  std::uint64_t ticket = 0;
  std::uint64_t serial = 1;
};

INSTANTIATE_TEST_SUITE_P(Under, Placing,
                         testing::Values(Policy::window, Policy::per_task, Policy::exclusive),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(Placing, MapsHeldTensorsAndLeavesDroppedOnesWithoutMemory) {
  t.tensor('a', 1024);
  t.tensor('b', 2048);
  t.tensor('c', 512);
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}});
  t.dispatch({{'b', read}, {'c', write}});
  EXPECT_EQ(run("c"), 0U);
  EXPECT_FALSE(place_of('a').has_value());
  EXPECT_FALSE(place_of('b').has_value());
  ASSERT_TRUE(place_of('c').has_value());
  EXPECT_EQ(place_of('c')->bytes, 512U);
}

TEST_P(Placing, KeepsWhatATaskWritesApartFromWhatItReads) {
  t.tensor('a', 1024);
  t.tensor('b', 1024);
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}});
  EXPECT_EQ(run("ab"), 0U);
  EXPECT_FALSE(shares('a', 'b'));
}

TEST_P(Placing, SharesPagesWhereThereIsNoRule) {
  backend.can.exclusion = false;
  t.tensor('a', 1024);
  t.tensor('b', 1024);
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}});
  EXPECT_EQ(run("ab"), 0U);
  EXPECT_EQ(shares('a', 'b'), GetParam() != Policy::exclusive);
}

TEST_P(Placing, RelocatesOnceWhatEarlierWindowsPutTogether) {
  t.tensor('a', 1024);
  t.tensor('b', 1024);
  t.dispatch({{'a', write}});
  t.dispatch({{'b', write}});
  EXPECT_EQ(run("ab"), 0U);
  const bool together = shares('a', 'b');
  EXPECT_EQ(together, GetParam() != Policy::exclusive);
  for (int round = 0; round < 3; ++round) {
    t.dispatch({{'a', read}, {'b', read_write}});
    EXPECT_EQ(run("ab"), together && round == 0 ? 1U : 0U) << "round " << round;
    EXPECT_FALSE(shares('a', 'b'));
  }
}

TEST_P(Placing, RefusesToRelocateWhereRepairsAreForbidden) {
  if (GetParam() == Policy::exclusive) GTEST_SKIP() << "No page is shared, so nothing is repaired.";
  t.tensor('a', 1024);
  t.tensor('b', 1024);
  t.dispatch({{'a', write}});
  t.dispatch({{'b', write}});
  EXPECT_EQ(run("ab"), 0U);
  options.repairs = Repairs::forbidden;
  t.dispatch({{'a', read}, {'b', read_write}});
  const auto before = manager().reports();
  {
    memory::Transaction transaction(manager());
    EXPECT_THROW(static_cast<void>(place("ab")), Unsupported);
  }
  EXPECT_EQ(manager().check(), std::nullopt);
  EXPECT_TRUE(shares('a', 'b'));
}

TEST_P(Placing, GivesTheRoomOfATransientToLaterTasksOfTheWindow) {
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) t.tensor(name, 64 * kKiB);
  t.dispatch({{'a', write}});
  for (char name = 'a'; name < 'f'; ++name) {
    t.dispatch({{name, read}, {static_cast<char>(name + 1), write}});
  }
  EXPECT_EQ(run("f"), 0U);
  Bytes reserved = 0;
  for (const PoolReport& pool : manager().reports()) reserved += pool.reserved;
  // Two live at a time; the page sizes of per_task grow by their own rule.
  EXPECT_LT(reserved, 6 * 64 * kKiB);
}

TEST_P(Placing, MakesNoPageForTheSameWindowAgain) {
  for (const char name : {'a', 'b', 'c'}) t.tensor(name, 5000 / 4 * 4);
  std::uint64_t before = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 1) before = backend.device.made_ever;
    t.dispatch({{'a', write}});
    t.dispatch({{'a', read}, {'b', write}});
    t.dispatch({{'b', read}, {'c', write}});
    run("c");
    drop('c');
  }
  EXPECT_EQ(backend.device.made_ever, before);
}

TEST_P(Placing, LeavesNoTraceIfAnyPageCannotBeMade) {
  for (const char name : {'a', 'b', 'c', 'd'}) t.tensor(name, 256 * kKiB);
  t.dispatch({{'a', write}});
  EXPECT_EQ(run("a"), 0U);
  const auto record = [&] {
    t.dispatch({{'a', read}, {'b', write}});
    t.dispatch({{'b', read}, {'c', write}});
    t.dispatch({{'a', read}, {'c', read}, {'d', write}});
  };
  record();
  bool failed = true;
  int failures = 0;
  for (std::uint64_t nth = 0; failed; ++nth) {
    const Bytes reserved = backend.device.reserved;
    const auto place_before = place_of('a');
    backend.device.fail_at = nth;
    {
      memory::Transaction transaction(manager());
      const Placed placed = place("abcd");
      failed = std::holds_alternative<memory::StorageFailure>(placed);
      if (failed) {
        EXPECT_FALSE(std::get<memory::StorageFailure>(placed).message.empty());
        ++failures;
      }
    }
    backend.device.fail_at.reset();
    EXPECT_EQ(manager().check(), std::nullopt) << "page " << nth;
    EXPECT_EQ(backend.device.reserved, reserved) << "page " << nth;
    EXPECT_EQ(place_of('a'), place_before) << "page " << nth;
    ASSERT_LT(nth, 20U);
  }
  EXPECT_GE(failures, 1);
  run("abcd");
}

TEST_P(Placing, KeepsEveryRuleOverManyRandomWindowsOnOldPlaces) {
  std::mt19937_64 random(23);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const std::string names = "abcdefgh";
  for (const char name : names) t.tensor(name, 256 * (1 + below(12)) + 4 * below(3));
  std::string contents;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t tasks = 1 + below(10);
    for (std::uint64_t task = 0; task < tasks; ++task) {
      std::vector<TableUse> uses;
      const std::uint64_t reads = below(4);
      for (std::uint64_t i = 0; i < reads && !contents.empty(); ++i) {
        uses.push_back({contents[below(contents.size())], read});
      }
      const char out = names[below(names.size())];
      const bool partial = contents.find(out) != std::string::npos && below(2) == 0 &&
                           std::ranges::find(uses, out, &TableUse::tensor) == uses.end();
      uses.push_back({out, partial ? read_write : write});
      if (contents.find(out) == std::string::npos) contents += out;
      t.dispatch(uses);
    }
    std::string held;
    for (const char name : contents) {
      if (below(4) != 0) held += name;
    }
    const std::string in_window = [&] {
      std::string listed;
      for (const TensorState* tensor : t.window.tensors()) listed += tensor->label;
      return listed;
    }();
    run(held);
    // Dropped: their memory is gone. A tensor that was not in the window keeps its own.
    std::erase_if(contents, [&](char name) {
      return in_window.find(name) != std::string::npos && held.find(name) == std::string::npos;
    });
    for (const char name : contents) ASSERT_TRUE(place_of(name).has_value()) << name;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::client
