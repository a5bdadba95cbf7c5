// SPDX-License-Identifier: Apache-2.0
//
// The seed's case planned as if there were no rule of exclusion: the checker, the runtime's border,
// the judge and the device itself each refuse it. Were one of them blind, the others' silence in
// all other tests would prove nothing.
#include <algorithm>
#include <array>
#include <variant>

#include "berth/plan/planner.hpp"
#include "conformance_fixture.hpp"
#include "host_adapter.hpp"
#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/registry.hpp"
#include "support/raw_device.hpp"
#include "support/wgpu_judge.hpp"

namespace berth::conformance {
namespace {

constexpr Bytes kTensor = 256;
constexpr std::uint32_t kOut = 3;  // versions: a, b, c, out

/// zeros writes out, custom reads a, b, c and writes out sparsely.
plan::Problem seed_problem(bool exclusion) {
  plan::Problem problem;
  for (std::uint32_t v = 0; v < 4; ++v) {
    plan::Version version;
    version.tensor = plan::TensorId(v);
    version.bytes = kTensor;
    version.alignment = 256;
    version.outlives = true;
    problem.versions.push_back(version);
  }
  const auto add = [&](plan::TaskKind kind, std::initializer_list<plan::Use> uses) {
    plan::Task task;
    task.kind = kind;
    task.first_use = static_cast<std::uint32_t>(problem.uses.size());
    task.use_count = static_cast<std::uint32_t>(uses.size());
    problem.uses.insert(problem.uses.end(), uses.begin(), uses.end());
    problem.tasks.push_back(task);
  };
  const auto use = [](std::uint32_t version, Access access) {
    return plan::Use{plan::VersionId(version), access, {0, kTensor}};
  };
  for (std::uint32_t v = 0; v < kOut; ++v) add(plan::TaskKind::upload, {use(v, Access::write)});
  add(plan::TaskKind::dispatch, {use(kOut, Access::write)});
  add(plan::TaskKind::dispatch, {use(0, Access::read), use(1, Access::read), use(2, Access::read),
                                 use(kOut, Access::read_write)});
  problem.device.exclusion = exclusion;
  problem.device.page_granularity = 64 * kKiB;
  problem.device.binding_alignment = 256;
  return problem;
}

plan::Plan plan_without_exclusion() {
  return std::get<plan::Plan>(plan::place(seed_problem(false)));
}

class ExclusionOff : public Conformance {};
BERTH_UNDER_EVERY_POLICY(ExclusionOff);

TEST_P(ExclusionOff, IsRefusedByTheChecker) {
  const plan::Plan plan = plan_without_exclusion();
  EXPECT_EQ(plan.places[kOut].page, plan.places[0].page) << "no reason to make a second page";
  EXPECT_TRUE(plan::check(seed_problem(false), plan).empty());
  const std::vector<plan::Violation> found = plan::check(seed_problem(true), plan);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::ranges::any_of(found, [](const plan::Violation& violation) {
    return violation.rule == plan::Violation::Rule::exclusion;
  })) << found.front().message;
}

TEST_P(ExclusionOff, IsRefusedAtTheRuntimesBorder) {
  const plan::Plan plan = plan_without_exclusion();
  plan::Program program;
  for (const plan::PlannedPage& page : plan.pages) program.pages.push_back({page.bytes, {}});
  program.kernels = {{test::zeros_kernel()}, {test::sparse_kernel()}};
  program.labels = {"zeros", "custom"};
  std::vector<std::byte> uniforms(512);
  const auto dispatch = [&](std::uint32_t kernel, std::initializer_list<std::uint32_t> versions) {
    plan::Command command;
    command.kernel = kernel;
    command.label = kernel;
    command.grid = kernel;
    command.first_binding = static_cast<std::uint32_t>(program.bindings.size());
    command.binding_count = static_cast<std::uint32_t>(versions.size());
    command.uniform_offset = Bytes{256} * kernel;
    command.uniform_bytes = 4;
    uniforms[static_cast<std::size_t>(command.uniform_offset)] = std::byte{64};  // n
    for (const std::uint32_t v : versions) {
      const Access out = kernel == 0 ? Access::write : Access::read_write;
      program.bindings.push_back(
          {plan.places[v].page, plan.places[v].offset, kTensor, v == kOut ? out : Access::read, 0});
    }
    program.commands.push_back(command);
    program.level_ends.push_back(static_cast<std::uint32_t>(program.commands.size()));
  };
  dispatch(0, {kOut});
  dispatch(1, {0, 1, 2, kOut});
  program.uniform_bytes = uniforms.size();
  program.grids = 2;

  const std::unique_ptr<runtime::Backend> backend = runtime::make_backend(options());
  std::vector<memory::PageHandle> pages;
  for (const plan::ProgramPage& page : program.pages) {
    pages.push_back(backend->make_page({page.bytes, memory::PageUse::storage, "page"}).page);
  }
  const memory::PageHandle room =
      backend->make_page({512, memory::PageUse::uniform, "uniforms"}).page;
  const std::array<Grid, 2> grids = {Grid{1}, Grid{1}};
  runtime::Submission submission;
  submission.uniforms = uniforms;
  submission.uniform_room = {room, 0};
  submission.grids = grids;
  for (const Kernel& kernel : {test::zeros_kernel(), test::sparse_kernel()}) {
    backend->compile(kernel, Variant::plain, 0);
  }
  const std::string message = error_of(ErrorCode::internal, [&] {
    const auto prepared = backend->prepare(std::make_shared<const plan::Program>(program), pages);
    static_cast<void>(backend->submit(backend->encode(*prepared, submission)));
  });
  EXPECT_THAT(message, testing::HasSubstr("custom"));
  for (const memory::PageHandle page : pages) backend->free_page(page);
  backend->free_page(room);
}

TEST_P(ExclusionOff, IsRefusedByTheJudgeAndByTheDevice) {
  ignore_verdicts(
      {test::Rule::error, test::Rule::writable_and_other_use, test::Rule::undeclared_pipeline});
  const plan::Plan plan = plan_without_exclusion();
  std::string caught;
  {
    const ConnectOptions through = options();
    test::RawDevice device(host_adapter(), through.webgpu.get_proc, through.webgpu.get_proc_user);
    WGPUBuffer page = device.make_buffer(
        plan.pages[plan.places[kOut].page.index()].bytes,
        WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst, "page");
    WGPUBindGroup group =
        device.make_group(page, plan.places[0].offset, page, plan.places[kOut].offset);
    device.push();
    WGPUCommandBuffer commands = device.encode(group);  // ends with finish
    caught = device.pop();
    device.api().CommandBufferRelease(commands);  // submitting it would end the process
    device.api().BindGroupRelease(group);
    device.api().BufferDestroy(page);
    device.api().BufferRelease(page);
  }
  EXPECT_THAT(caught, testing::AnyOf(testing::HasSubstr("writable usage and another usage"),
                                     testing::HasSubstr("conflicting usages")));
  test::JudgeOptions judged;
  judged.errors = test::JudgeOptions::Errors::expected;
  const test::Verdict verdict = test::judge(recording(), judged);
  EXPECT_TRUE(verdict.broke(test::Rule::writable_and_other_use)) << verdict.text();
}

}  // namespace
}  // namespace berth::conformance
