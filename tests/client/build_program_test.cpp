// SPDX-License-Identifier: Apache-2.0
//
// Windows, placed, as programs: what is bound where, levels, uniforms, dummies.
#include "client/build_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <variant>

#include "berth/plan/planner.hpp"
#include "client/versions.hpp"
#include "window_table.hpp"

namespace berth::client {
namespace {

using enum Access;
using plan::CommandKind;
using testing::ElementsAre;

class BuildProgram : public testing::Test {
 protected:
  BuildProgram() {
    for (const char name : {'a', 'b', 'c', 'd'}) t.tensor(name, 1024);
    device.target = Target::wgsl;
    device.limits.offset_alignment = 256;
    device.limits.uniform_alignment = 256;
    device.limits.max_page_bytes = kGiB;
  }
  ~BuildProgram() override { t.window.clear(99); }

  void build(const std::string& held = "abcd") {
    std::vector<TensorFacts> facts(t.window.tensors().size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      facts[i].held = held.find(t.window.tensors()[i]->label) != std::string::npos;
    }
    WindowProblem made = make_problem(t.window, facts, device);
    repaired = plan::repair(std::move(made.problem));
    plan = std::get<plan::Plan>(plan::place(repaired.problem));
    ASSERT_TRUE(plan::check(repaired.problem, plan).empty());
    built = build_program(t.window, repaired, plan, device);
  }
  [[nodiscard]] std::span<const plan::ProgramBinding> bindings(std::size_t command) const {
    const plan::Command& c = built.program.commands[command];
    return std::span(built.program.bindings).subspan(c.first_binding, c.binding_count);
  }
  [[nodiscard]] std::vector<std::uint32_t> words(const plan::Command& command) const {
    std::vector<std::uint32_t> out(command.uniform_bytes / 4);
    std::memcpy(out.data(), built.uniforms.data() + command.uniform_offset, command.uniform_bytes);
    return out;
  }

  WindowTable t;
  runtime::Capabilities device;
  plan::Repaired repaired;
  plan::Plan plan;
  BuiltProgram built;
};

TEST_F(BuildProgram, BindsEachUseWhereItsVersionLies) {
  t.dispatch({{'a', write}});
  t.dispatch({{'a', read, {256, 512}}, {'b', write}});
  build();
  ASSERT_EQ(built.program.commands.size(), 2U);
  const auto second = bindings(1);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].access, read);
  EXPECT_EQ(second[0].offset, plan.places[0].offset + 256);
  EXPECT_EQ(second[0].bytes, 512U);
  EXPECT_EQ(second[0].base, 0U);
  EXPECT_EQ(second[1].access, write);
  EXPECT_NE(second[0].page, second[1].page);
  EXPECT_EQ(second[0].page, bindings(0)[0].page);
  for (std::size_t p = 0; p < built.program.pages.size(); ++p) {
    EXPECT_EQ(built.page_sources[p].kind, PageSource::Kind::planned);
    EXPECT_EQ(built.program.pages[p].bytes,
              plan.pages[built.page_sources[p].planned.index()].bytes);
  }
}

TEST_F(BuildProgram, TurnsEachKindOfTaskIntoItsCommand) {
  t.transfer(plan::TaskKind::upload, {{'a', write}});
  t.transfer(plan::TaskKind::fill, {{'b', write}});
  t.transfer(plan::TaskKind::copy, {{'a', read}, {'c', write}});
  t.dispatch({{'c', read}, {'d', write}});
  t.transfer(plan::TaskKind::readback, {{'d', read}});
  static_cast<void>(t.window.add_upload_source({}));
  build();
  std::vector<CommandKind> kinds;
  kinds.reserve(built.program.commands.size());
  for (const plan::Command& command : built.program.commands) kinds.push_back(command.kind);
  EXPECT_THAT(kinds, ElementsAre(CommandKind::upload, CommandKind::fill, CommandKind::copy,
                                 CommandKind::dispatch, CommandKind::readback));
  EXPECT_EQ(built.program.uploads, 1U);
  EXPECT_EQ(built.program.readbacks, 1U);
  EXPECT_EQ(built.program.grids, 1U);
  EXPECT_THAT(built.grids, ElementsAre(Grid{1}));
}

TEST_F(BuildProgram, BeginsALevelWhereACommandNeedsAnEarlierOne) {
  t.transfer(plan::TaskKind::fill, {{'a', write}});
  t.transfer(plan::TaskKind::fill, {{'b', write}});
  t.dispatch({{'a', read}, {'c', write}});
  t.dispatch({{'a', read}, {'d', write}});
  t.dispatch({{'c', read}, {'b', read_write}});
  build();
  EXPECT_THAT(built.program.level_ends, ElementsAre(2U, 4U, 5U));
}

TEST_F(BuildProgram, OfAnEmptyWindowIsEmpty) {
  build();
  EXPECT_TRUE(built.program.commands.empty());
  EXPECT_TRUE(built.program.level_ends.empty());
  EXPECT_TRUE(built.program.pages.empty());
}

TEST_F(BuildProgram, PacksUniformsForTheTargetAtAlignedOffsets) {
  KernelSignature signature = WindowTable::kernel_of({{'a', write}}).signature();
  signature.uniforms = {{"n", Element::u32, 1, Builtin::none, {}},
                        {"v", Element::u32, 3, Builtin::none, {}}};
  KernelCode code;
  code.source = "wgsl";
  const Kernel kernel(signature, {code});
  t.dispatch({{'a', write}}, {1, 2, 3, 4}, &kernel);
  t.dispatch({{'b', write}}, {5, 6, 7, 8}, &kernel);
  build();
  const plan::Command& first = built.program.commands[0];
  const plan::Command& second = built.program.commands[1];
  EXPECT_EQ(first.uniform_bytes, 32U);
  EXPECT_EQ(second.uniform_bytes, 32U);
  EXPECT_EQ(first.uniform_offset % 256, 0U);
  EXPECT_EQ(second.uniform_offset % 256, 0U);
  EXPECT_NE(first.uniform_offset, second.uniform_offset);
  EXPECT_THAT(words(first), ElementsAre(1, 0, 0, 0, 2, 3, 4, 0));
  EXPECT_THAT(words(second), ElementsAre(5, 0, 0, 0, 6, 7, 8, 0));
  EXPECT_EQ(built.program.uniform_bytes, built.uniforms.size());

  device.target = Target::cpu;
  build();
  EXPECT_EQ(built.program.commands[0].uniform_bytes, 16U);
  EXPECT_THAT(words(built.program.commands[0]), ElementsAre(1, 2, 3, 4));
}

TEST_F(BuildProgram, GivesEmptyTensorsDummiesThatNeverMeet) {
  t.tensor('e', 0);
  t.tensor('f', 0);
  t.dispatch({{'e', read}, {'a', write}, {'e', write}, {'f', read_write}});
  build();
  const auto bound = bindings(0);
  ASSERT_EQ(bound.size(), 4U);
  const auto source = [&](std::size_t i) { return built.page_sources[bound[i].page.index()].kind; };
  EXPECT_EQ(source(0), PageSource::Kind::dummy_read);
  EXPECT_EQ(source(1), PageSource::Kind::planned);
  EXPECT_EQ(source(2), PageSource::Kind::dummy_write);
  EXPECT_EQ(source(3), PageSource::Kind::dummy_write);
  EXPECT_EQ(bound[0].access, read);
  EXPECT_TRUE(writes(bound[2].access));
  EXPECT_TRUE(writes(bound[3].access));
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    EXPECT_GE(bound[i].bytes, 4U);
    EXPECT_EQ(bound[i].offset % 256, 0U);
    EXPECT_LE(bound[i].offset + bound[i].bytes, built.program.pages[bound[i].page.index()].bytes);
  }
  EXPECT_NE(bound[2].offset, bound[3].offset);
}

TEST_F(BuildProgram, BindsAnUnalignedRangeFromTheAlignedOffsetBeforeIt) {
  KernelSignature signature = WindowTable::kernel_of({{'a', read}, {'b', write}}).signature();
  signature.uniforms = {{"n", Element::u32, 1, Builtin::none, {}},
                        {"first", Element::u32, 1, Builtin::first_element, "b0"}};
  KernelCode code;
  code.source = "wgsl";
  const Kernel kernel(signature, {code});
  t.transfer(plan::TaskKind::fill, {{'a', write}});
  t.dispatch({{'a', read, {264, 40}}, {'b', write}}, {10}, &kernel);
  build();
  const plan::ProgramBinding& bound = bindings(1)[0];
  EXPECT_EQ(bound.offset % 256, 0U);
  EXPECT_EQ(bound.base, 8U);
  EXPECT_EQ(bound.bytes, 48U);
  EXPECT_THAT(words(built.program.commands[1]), ElementsAre(10, 2));
}

TEST_F(BuildProgram, NamesTheCopiesOfRepairs) {
  t.transfer(plan::TaskKind::fill, {{'a', write}});
  t.dispatch({{'a', read, {4, 256}}, {'b', write}});  // a bounce: the kernel takes no offset
  build();
  ASSERT_EQ(repaired.repairs.size(), 1U);
  EXPECT_EQ(repaired.repairs[0].kind, plan::RepairKind::bounce);
  std::set<std::string> labels;
  for (const plan::Command& command : built.program.commands) {
    labels.insert(built.program.labels[command.label]);
  }
  EXPECT_TRUE(labels.contains("repair copy"));
  EXPECT_TRUE(labels.contains("task"));
}

}  // namespace
}  // namespace berth::client
