// SPDX-License-Identifier: Apache-2.0
//
// Tensors and the verbs that act on them without a kernel of the user's.
#include <array>

#include "conformance_fixture.hpp"

namespace berth::conformance {
namespace {

class Tensors : public Conformance {};
BERTH_UNDER_EVERY_POLICY(Tensors);

TEST_P(Tensors, EmptyAsksNobodyAndHasNoMemoryUntilItsFirstWindowIsSubmitted) {
  const Report before = client().report();
  const Handle x = empty(1000, "x");
  EXPECT_EQ(x.bytes(), 4000U);
  EXPECT_EQ(x.label(), "x");
  EXPECT_FALSE(x.is_mapped());
  EXPECT_FALSE(x.has_contents());
  const Handle source = tensor(counted(1000));
  launch_copy(source, x, 1000);
  EXPECT_FALSE(x.is_mapped());
  EXPECT_TRUE(x.has_contents());
  EXPECT_EQ(client().report().windows, before.windows);
  client().flush();
  EXPECT_TRUE(x.is_mapped());
  EXPECT_EQ(client().report().windows, before.windows + 1);
}

TEST_P(Tensors, ThatAreNeverUsedGetNoMemory) {
  const Handle unused = empty(1 << 20);
  const Handle used = tensor({1, 2, 3});
  client().sync();
  EXPECT_FALSE(unused.is_mapped());
  EXPECT_LT(client().report().reserved, unused.bytes());
  expect_words(used, {1, 2, 3});
}

TEST_P(Tensors, CreateCopiesTheDataAtTheCall) {
  Words data = counted(5000, 7, 3);
  const Words original = data;
  const Handle x = client().create(data);
  std::ranges::fill(data, 0U);
  expect_words(x, original);
}

TEST_P(Tensors, UploadCopiesTheDataAtTheCall) {
  const Handle x = empty(300);
  Words data = counted(300, 1);
  client().upload(x, std::span<const std::uint32_t>(data));
  std::ranges::fill(data, 0U);
  client().flush();
  expect_words(x, counted(300, 1));
}

TEST_P(Tensors, ZerosAreZeroAlsoOnMemoryThatWasUsedBefore) {
  {
    const Handle old = tensor(Words(4096, 0xFFFFFFFFU));
    client().flush();
  }
  const Handle zeros = client().zeros(4 * 4096);
  expect_words(zeros, Words(4096, 0));
}

TEST_P(Tensors, FillsWritePatternsAndRanges) {
  const Handle x = client().zeros(4 * 256);
  client().fill(x, 0xDEADBEEFU);
  client().fill(x.slice(256, 512), 0);
  client().fill(x.slice(512, 256), 5);
  Words expected(256, 0xDEADBEEFU);
  std::fill(expected.begin() + 64, expected.begin() + 192, 0U);
  std::fill(expected.begin() + 128, expected.begin() + 192, 5U);
  expect_words(x, expected);
}

TEST_P(Tensors, UploadsOfARangeKeepTheRest) {
  const Handle x = tensor(counted(1000));
  client().flush();
  const Words middle(10, 99);
  client().upload(x.slice(404, 40), std::span<const std::uint32_t>(middle));
  Words expected = counted(1000);
  std::copy(middle.begin(), middle.end(), expected.begin() + 101);
  expect_words(x, expected);
}

TEST_P(Tensors, CopiesMoveWholeTensorsAndRanges) {
  const Handle source = tensor(counted(1024));
  const Handle whole = empty(1024);
  client().copy(source, whole);
  const Handle parts = client().zeros(4 * 1024);
  client().copy(source.slice(0, 400), parts.slice(3696, 400));
  client().copy(source.slice(1028, 64), parts.slice(4, 64));
  Words expected(1024, 0);
  for (std::uint32_t i = 0; i < 100; ++i) expected[924 + i] = i;
  for (std::uint32_t i = 0; i < 16; ++i) expected[1 + i] = 257 + i;
  expect_words(whole, counted(1024));
  expect_words(parts, expected);
}

TEST_P(Tensors, ReadsOfARangeBringThatRange) {
  const Handle x = tensor(counted(500));
  expect_words(x.slice(40, 80), counted(20, 10));
  expect_words(x.slice(1996, 4), {499});
  expect_words(x.slice(1600, kWholeSize), counted(100, 400));
}

TEST_P(Tensors, SlicesAreBoundWhereTheyLie) {
  const Handle x = tensor(counted(256));
  const Handle out = client().zeros(4 * 256);
  launch_scale(x.slice(256, 256), out.slice(512, 256), 64, 2, 1);
  launch_scale(x.slice(768, 256), out.slice(0, 256), 64, 1, 0);
  Words expected(256, 0);
  for (std::uint32_t i = 0; i < 64; ++i) {
    expected[128 + i] = (64 + i) * 2 + 1;
    expected[i] = 192 + i;
  }
  expect_words(out, expected);
}

TEST_P(Tensors, AKernelMayWriteTwoDisjointSlicesOfOneTensor) {
  const Handle x = tensor(counted(64));
  const Handle out = client().zeros(4 * 192);
  client().launch(test::split_kernel(), cover(64, kGroup),
                  {x, out.slice(512, 256), out.slice(0, 256)}, test::Counts{64, 64});
  Words expected(192, 0);
  for (std::uint32_t i = 0; i < 64; ++i) {
    expected[128 + i] = i + 1;
    expected[i] = i * 3;
  }
  expect_words(out, expected);
}

TEST_P(Tensors, AKernelMayReadOneTensorThroughSeveralBindings) {
  const Handle x = tensor(counted(128, 5));
  const Handle out = empty(64);
  client().launch(test::add_kernel(), cover(64, kGroup), {x.slice(0, 256), x.slice(256, 256), out},
                  test::Count{64});
  const Handle twice = empty(128);
  client().launch(test::add_kernel(), cover(128, kGroup), {x, x, twice}, test::Count{128});
  expect_words(out, counted(64, 74, 2));
  expect_words(twice, counted(128, 10, 2));
}

TEST_P(Tensors, OfNoBytesGoThroughEveryVerb) {
  const Handle none = client().create(Words{});
  const Handle zero = client().zeros(0);
  client().upload(none, std::span<const std::uint32_t>());
  client().fill(none, 0);
  client().fill(none, 7);
  client().copy(none, zero);
  launch_copy(none, zero, 0);
  EXPECT_TRUE(none.has_contents());
  expect_words(none, {});
  expect_words(zero, {});
  client().sync();
  EXPECT_FALSE(none.is_mapped());
}

TEST_P(Tensors, ThatAreEmptyMayBeReadByAKernelThatStillWritesItsOutput) {
  const Handle none = empty(0);
  const Handle out = tensor(Words(100, 77));
  client().launch(test::products_kernel(), cover(100, kGroup), {none, out},
                  test::Products{.n = 100, .terms = 0});
  const Handle some = tensor({1, 2, 3});
  const Handle more = empty(10);
  client().launch(test::products_kernel(), cover(10, kGroup), {some, more},
                  test::Products{.n = 10, .terms = 3});
  expect_words(out, Words(100, 0));
  expect_words(more, counted(10, 0, 6));
}

TEST_P(Tensors, ThatAreEmptyMayBeWrittenBesideOnesThatAreNot) {
  const Handle x = tensor(counted(64));
  const Handle none = empty(0);
  const Handle first = empty(64);
  client().launch(test::split_kernel(), cover(64, kGroup), {x, first, none}, test::Counts{64, 0});
  expect_words(first, counted(64, 1));
}

TEST_P(Tensors, OfEverySizeAroundAnEdgeArrive) {
  std::vector<Handle> tensors;
  std::vector<Words> contents;
  for (const std::size_t words : {1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 16383, 16384, 16385}) {
    contents.push_back(counted(words, static_cast<std::uint32_t>(words * 1000)));
    tensors.push_back(tensor(contents.back()));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Handle out = empty(contents[i].size());
    launch_scale(tensors[i], out, contents[i].size(), 3, 1);
    expect_words(out, scaled(contents[i], 3, 1));
    expect_words(tensors[i], contents[i]);
  }
}

TEST_P(Tensors, OfAllSizesUploadedInARowAllArrive) {
  std::vector<Handle> tensors;
  for (std::uint32_t i = 0; i < 200; ++i) tensors.push_back(tensor(counted(1 + i * 7 % 97, i)));
  for (std::uint32_t i = 0; i < 200; ++i) expect_words(tensors[i], counted(1 + i * 7 % 97, i));
}

TEST_P(Tensors, LargerThanAStagingPageArriveWhole) {
  const std::size_t words = (5 * kMiB + 4) / 4;
  const Handle x = tensor(counted(words, 3, 5));
  expect_words(x, counted(words, 3, 5));
}

TEST_P(Tensors, AreFillableAboveWhatOneDimensionOfAGridCovers) {
  if (policy() != Policy::window) GTEST_SKIP() << "Grids do not depend on the policy.";
  const std::size_t words = std::size_t{65535} * kGroup + 1000;
  const Handle x = empty(words);
  client().fill(x, 9);
  expect_words(x.slice(Bytes{4} * (words - 2000), 8000), Words(2000, 9));
  const Handle out = empty(words);
  launch_scale(x, out, words, 5, 1);
  expect_words(out.slice(Bytes{4} * (words - 2000), 8000), Words(2000, 46));
  expect_words(out.slice(0, 8000), Words(2000, 46));
}

TEST_P(Tensors, KeepTheirCapacityAndSizeApart) {
  const Handle x = client().empty(400, {.label = "grows", .capacity = 4096});
  EXPECT_EQ(x.bytes(), 400U);
  EXPECT_EQ(x.capacity(), 4096U);
  client().upload(x, std::span<const std::uint32_t>(counted(100)));
  expect_words(x, counted(100));
  EXPECT_GE(client().report().live, 4096U);
}

TEST_P(Tensors, TakeUniformsOfEveryShape) {
  const test::Vectors u{
      .offset = 3, .three = {5, 7, 11}, .two = {-13, 17}, .four = {19, 23, 29, 31}, .n = 100};
  const Handle x = tensor(counted(100));
  const Handle out = empty(100);
  client().launch(test::vectors_kernel(), cover(100, kGroup), {x, out}, u);
  Words expected(100);
  for (std::uint32_t i = 0; i < 100; ++i) expected[i] = test::mixed(i, u);
  expect_words(out, expected);
}

}  // namespace
}  // namespace berth::conformance
