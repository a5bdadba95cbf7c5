// SPDX-License-Identifier: Apache-2.0
#include "client/window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "window_table.hpp"

namespace berth::client {
namespace {

using enum Access;

TEST(Window, ListsEachTensorAndKernelOnceInOrderOfFirstUse) {
  WindowTable t;
  t.tensor('a', 64);
  t.tensor('b', 64);
  t.tensor('c', 64);
  const Kernel kernel = WindowTable::kernel_of({{'b', read}, {'a', write}});
  t.dispatch({{'b', read}, {'a', write}}, {1, 2}, &kernel);
  t.dispatch({{'a', read}, {'c', write}}, {3}, &kernel);
  ASSERT_EQ(t.window.tensors().size(), 3U);
  EXPECT_EQ(t.window.tensors()[0], &t.at('b'));
  EXPECT_EQ(t.window.tensors()[1], &t.at('a'));
  EXPECT_EQ(t.window.tensors()[2], &t.at('c'));
  EXPECT_EQ(t.window.kernels().size(), 1U);
  ASSERT_EQ(t.window.tasks().size(), 2U);
  EXPECT_THAT(t.window.words_of(t.window.tasks()[0]), testing::ElementsAre(1U, 2U));
  EXPECT_THAT(t.window.words_of(t.window.tasks()[1]), testing::ElementsAre(3U));
  EXPECT_EQ(t.window.uses_of(t.window.tasks()[1])[0].tensor, 1U);
}

TEST(Window, HoldsItsTensorsOncePerUse) {
  WindowTable t;
  t.tensor('a', 64);
  t.tensor('b', 64);
  t.dispatch({{'a', read}, {'a', read}, {'b', write}});
  t.transfer(plan::TaskKind::readback, {{'a', read}});
  EXPECT_EQ(t.at('a').registered.load(), 3U);
  EXPECT_EQ(t.at('b').registered.load(), 1U);
  t.window.clear(2);
  EXPECT_EQ(t.at('a').registered.load(), 0U);
  EXPECT_EQ(t.at('b').registered.load(), 0U);
  EXPECT_TRUE(t.window.empty());
  EXPECT_EQ(t.window.serial(), 2U);
}

TEST(Window, NumbersReadbacksByItself) {
  WindowTable t;
  t.tensor('a', 64);
  t.transfer(plan::TaskKind::readback, {{'a', read}});
  t.transfer(plan::TaskKind::readback, {{'a', read}});
  EXPECT_EQ(t.window.readbacks(), 2U);
  EXPECT_EQ(t.window.tasks()[1].slot, 1U);
}

TEST(Window, RewindsToAMarkAsIfTheRestHadNotBeenRecorded) {
  WindowTable t;
  t.tensor('a', 64);
  t.tensor('b', 64);
  t.dispatch({{'a', write}});
  const Window::Mark mark = t.window.mark();
  t.transfer(plan::TaskKind::readback, {{'a', read}});
  t.transfer(plan::TaskKind::readback, {{'b', read}});
  EXPECT_EQ(t.window.tensors().size(), 2U);
  t.window.rewind(mark);
  EXPECT_EQ(t.window.tasks().size(), 1U);
  EXPECT_EQ(t.window.tensors().size(), 1U);
  EXPECT_EQ(t.window.readbacks(), 0U);
  EXPECT_EQ(t.at('a').registered.load(), 1U);
  EXPECT_EQ(t.at('b').registered.load(), 0U);
  t.dispatch({{'b', write}});  // is listed anew
  ASSERT_EQ(t.window.tensors().size(), 2U);
  EXPECT_EQ(t.window.tensors()[t.window.uses().back().tensor], &t.at('b'));
  t.window.clear(2);
}

TEST(Window, ForgetsIndicesOfTensorsFromOneWindowToTheNext) {
  WindowTable t;
  t.tensor('a', 64);
  t.tensor('b', 64);
  t.dispatch({{'a', write}});
  t.dispatch({{'b', write}});
  t.window.clear(2);
  t.dispatch({{'b', read}});
  ASSERT_EQ(t.window.tensors().size(), 1U);
  EXPECT_EQ(t.window.uses()[0].tensor, 0U);
  t.window.clear(3);
}

}  // namespace
}  // namespace berth::client
