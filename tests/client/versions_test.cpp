// SPDX-License-Identifier: Apache-2.0
//
// Tables of windows and the versions they become.
#include "client/versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "window_table.hpp"

namespace berth::client {
namespace {

using enum Access;

class Versions : public testing::Test {
 protected:
  Versions() {
    for (const char name : {'a', 'b', 'c', 'd'}) t.tensor(name, 1024);
    device.limits.offset_alignment = 256;
    device.limits.max_page_bytes = kGiB;
  }
  ~Versions() override { t.window.clear(99); }

  /// Held tensors by letter, and those placed by earlier windows (on page 0, one after another).
  void make(const std::string& held, const std::string& placed = "") {
    std::vector<TensorFacts> facts(t.window.tensors().size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const std::string& name = t.window.tensors()[i]->label;
      facts[i].held = held.find(name) != std::string::npos;
      const std::size_t place = placed.find(name);
      if (place != std::string::npos) facts[i].place = plan::Place{plan::PageId(0), place * 1024};
    }
    made = make_problem(t.window, facts, device);
  }
  /// "read a0 write b1": each use of a task with its tensor's letter and version.
  [[nodiscard]] std::string uses_of(std::size_t task) const {
    std::string out;
    const plan::Task& recorded = made.problem.tasks[task];
    for (std::uint32_t i = 0; i < recorded.use_count; ++i) {
      const plan::Use& use = made.problem.uses[recorded.first_use + i];
      if (!out.empty()) out += ' ';
      out += name_of(use.access);
      out += ' ' + t.window.tensors()[made.tensor_of[use.version.index()]]->label +
             std::to_string(use.version.value);
    }
    return out;
  }
  [[nodiscard]] const plan::Version& version(std::uint32_t v) const {
    return made.problem.versions[v];
  }

  WindowTable t;
  runtime::Capabilities device;
  WindowProblem made;
};

TEST_F(Versions, AWholeWriteStartsOneAndReadersTakeTheLast) {
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}});
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'c', write}});
  make("abc");
  EXPECT_EQ(uses_of(0), "write a0");
  EXPECT_EQ(uses_of(1), "read a0 write b1");
  EXPECT_EQ(uses_of(2), "write a2");
  EXPECT_EQ(uses_of(3), "read a2 write c3");
  EXPECT_EQ(made.renames, 1U);
  EXPECT_EQ(made.last_version[0], plan::VersionId(2));
}

TEST_F(Versions, ReadAndWholeWriteInOneTaskAreTheOldAndTheNewOne) {
  t.dispatch({{'a', write}});
  t.dispatch({{'a', write}, {'a', read}});
  make("a");
  EXPECT_EQ(uses_of(1), "write a1 read a0") << "uses keep the order of the bindings";
  EXPECT_EQ(made.renames, 1U);
}

TEST_F(Versions, PartialWritesAndReadWriteKeepIt) {
  t.dispatch({{'a', write}});
  t.dispatch({{'a', write, {256, 256}}});
  t.dispatch({{'a', read_write}});
  make("a");
  EXPECT_EQ(uses_of(1), "write a0");
  EXPECT_EQ(uses_of(2), "read_write a0");
  EXPECT_EQ(made.problem.versions.size(), 1U);
  EXPECT_EQ(made.renames, 0U);
}

TEST_F(Versions, ThoseOfEarlierWindowsAreFixedAndIncoming) {
  t.dispatch({{'a', read}, {'b', write}});
  make("ab", "a");
  ASSERT_TRUE(version(0).fixed.has_value());
  EXPECT_EQ(version(0).fixed->page, plan::PageId(0));
  EXPECT_TRUE(version(0).incoming);
  EXPECT_TRUE(version(0).movable);
  EXPECT_TRUE(version(0).outlives);
  EXPECT_EQ(version(0).pool, kPersistentPool);
  EXPECT_EQ(made.incoming_version[0], plan::VersionId(0));
  EXPECT_FALSE(version(1).fixed.has_value());
  EXPECT_FALSE(made.incoming_version[1].valid());
}

TEST_F(Versions, OldContentsThatNoTaskNeedsAreNoVersion) {
  t.dispatch({{'a', write}});
  make("a", "a");
  ASSERT_EQ(made.problem.versions.size(), 1U);
  EXPECT_FALSE(version(0).fixed.has_value());
  EXPECT_FALSE(version(0).incoming);
  EXPECT_FALSE(made.incoming_version[0].valid());
  EXPECT_EQ(made.renames, 1U);
}

TEST_F(Versions, OfDroppedTensorsAreTransientAndTheLastOfHeldOnesPersistent) {
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}});
  t.dispatch({{'b', read}, {'a', write}});
  make("a");
  EXPECT_EQ(version(0).pool, kTransientPool);
  EXPECT_FALSE(version(0).outlives) << "a0 is overwritten";
  EXPECT_EQ(version(1).pool, kTransientPool);
  EXPECT_FALSE(version(1).outlives) << "b is dropped";
  EXPECT_EQ(version(2).pool, kPersistentPool);
  EXPECT_TRUE(version(2).outlives);
}

TEST_F(Versions, EmptyUsesAreLeftOut) {
  t.tensor('e', 0);
  t.dispatch({{'e', read}, {'a', write}, {'e', write}, {'a', read, {256, 0}}});
  make("ae");
  EXPECT_EQ(uses_of(0), "write a0");
  EXPECT_FALSE(made.last_version[0].valid());
}

TEST_F(Versions, TakeTheirTensorsCapacity) {
  t.tensor('g', 512, 4096);
  t.dispatch({{'g', write}});
  make("g");
  EXPECT_EQ(version(0).bytes, 4096U);
  EXPECT_EQ(uses_of(0), "write g0");
  EXPECT_EQ(made.problem.uses[0].range, (Range{0, 512}));
}

TEST_F(Versions, AreAlignedAsTheDeviceDemandsAndOnlyKernelsNeedIt) {
  t.dispatch({{'a', write}});
  t.transfer(plan::TaskKind::copy, {{'a', read, {4, 16}}, {'b', write, {8, 16}}});
  make("ab");
  EXPECT_EQ(version(0).alignment, 256U);
  EXPECT_FALSE(made.problem.uses[0].any_offset);
  EXPECT_TRUE(made.problem.uses[1].any_offset);
  EXPECT_TRUE(made.problem.uses[2].any_offset);
}

TEST_F(Versions, InPlacePairsAreListedWhereTheKernelHasCodeForThem) {
  KernelSignature signature;
  signature.name = "scale";
  signature.bindings = {{"x", Element::u32, read, 1}, {"out", Element::u32, write, 1}};
  signature.workgroup = {64, 1, 1};
  signature.in_place = {{"x", "out"}};
  KernelCode plain;
  plain.target = Target::cpu;
  plain.function = [](const CpuInvocation&) {};
  KernelCode in_place = plain;
  in_place.variant = Variant::in_place;
  in_place.in_place_pairs = 1;
  const Kernel without(signature, {plain});
  const Kernel with(signature, {plain, in_place});
  device.target = Target::cpu;
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read}, {'b', write}}, {}, &without);
  t.dispatch({{'b', read}, {'c', write}}, {}, &with);
  t.dispatch({{'c', read}, {'d', write, {0, 512}}}, {}, &with);
  make("d");
  ASSERT_EQ(made.problem.in_place.size(), 1U) << "a partial output starts no version";
  EXPECT_EQ(made.problem.in_place[0].task, plan::TaskId(2));
  EXPECT_EQ(made.problem.in_place[0].input, plan::VersionId(1));
  EXPECT_EQ(made.problem.in_place[0].output, plan::VersionId(2));
}

}  // namespace
}  // namespace berth::client
