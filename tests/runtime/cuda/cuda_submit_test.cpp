// SPDX-License-Identifier: Apache-2.0
//
// Programs on the fake device: straight to the stream, as graphs, and from one to the other.
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "platform/dynamic_library.hpp"
#include "runtime/cuda/cuda_fixture.hpp"

namespace berth::runtime::cuda_test {

namespace {

constexpr std::uint32_t kN = 128;
constexpr Bytes kBytes = Bytes{kN} * 4;

Words counting(std::uint32_t from) {
  Words words(kN);
  std::iota(words.begin(), words.end(), from);
  return words;
}

/// upload x; y = x * factor + 1; z = x + y; read z.
ProgramBuilder chain(std::uint32_t factor = 3) {
  ProgramBuilder b;
  const std::uint32_t page = b.page(3 * kBytes);
  b.upload({page, 0, kBytes, Access::write});
  b.dispatch(test::scale_kernel(), {2, 1, 1},
             {{page, 0, kBytes}, {page, kBytes, kBytes, Access::write}},
             test::Scale{factor, 1, kN});
  b.dispatch(test::add_kernel(), {2, 1, 1},
             {{page, 0, kBytes}, {page, kBytes, kBytes}, {page, 2 * kBytes, kBytes, Access::write}},
             test::Count{kN});
  b.readback({page, 2 * kBytes, kBytes});
  return b;
}

Words chain_result(std::uint32_t from, std::uint32_t factor = 3) {
  Words words = counting(from);
  for (std::uint32_t& x : words) x += x * factor + 1;
  return words;
}

}  // namespace

class Submit : public FakeCuda, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(Submit, RunsAProgramAndReadsItsResult) {
  const auto backend = connect(GetParam());
  const ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  for (std::uint32_t i = 0; i < 4; ++i) {
    run.put(0, counting(i));
    const Ticket ticket = run.submit();
    EXPECT_EQ(run.take(0), chain_result(i));
    EXPECT_GE(backend->poll(), ticket);
  }
}

TEST_P(Submit, KeepsSubmissionsApartWhileWorkIsHeld) {
  const auto backend = connect(GetParam());
  ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  Running other(*backend, program, kN);
  fake().set_work(fake_cuda::Work::held);
  run.put(0, counting(5));
  other.put(0, counting(9));
  run.submit();
  const auto factor = std::uint32_t{7};
  std::memcpy(program.uniforms.data(), &factor, 4);
  other.submit();
  EXPECT_EQ(backend->poll().value, 0U);
  EXPECT_EQ(other.take(0), chain_result(9, 7));
  EXPECT_EQ(run.take(0), chain_result(5, 3));
}

TEST_P(Submit, FollowsUniformRoomGridAndStagingFromOneSubmissionToTheNext) {
  const auto backend = connect(GetParam());
  ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  run.submit();
  run.submit();
  run.move_uniforms();
  const auto factor = std::uint32_t{9};
  std::memcpy(program.uniforms.data(), &factor, 4);
  run.put(0, counting(2));
  run.submit();
  EXPECT_EQ(run.take(0), chain_result(2, 9));
  // One group computes half of z; the rest stays.
  program.grids[1] = {1, 1, 1};
  run.put(0, counting(100));
  run.submit();
  const Words all = run.take(0);
  EXPECT_EQ(all[63], chain_result(100, 9)[63]);
  EXPECT_EQ(all[64], chain_result(2, 9)[64]);
}

TEST_P(Submit, SkipsALaunchWithoutWorkgroupsAndRunsItAgainLater) {
  const auto backend = connect(GetParam());
  ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  for (const std::uint32_t groups : {0U, 2U, 0U, 0U, 2U}) {
    program.grids[1] = {groups, 1, 1};
    run.put(0, counting(groups * 10));
    run.submit();
    const Words result = run.take(0);
    EXPECT_EQ(result == chain_result(groups * 10), groups == 2);
  }
}

TEST_P(Submit, FillsAndCopiesInsideOnePage) {
  const auto backend = connect(GetParam());
  ProgramBuilder b;
  const std::uint32_t page = b.page(2 * kBytes);
  b.upload({page, 0, kBytes, Access::write});
  b.copy({page, 0, kBytes / 2}, {page, kBytes, kBytes / 2, Access::write});
  b.fill({page, 0, kBytes / 4, Access::write});
  b.readback({page, 0, 2 * kBytes});
  Running run(*backend, b, std::size_t{2} * kN);
  Words input = counting(1);
  input.resize(std::size_t{2} * kN);
  for (int i = 0; i < 3; ++i) {
    run.put(0, input);
    run.submit();
    const Words result = run.take(0);
    EXPECT_EQ(result[0], 0U);
    EXPECT_EQ(result[kN / 4], kN / 4 + 1);
    EXPECT_EQ(result[kN], 1U);
    EXPECT_EQ(result[kN + kN / 2], 0U) << "a new page holds zeros";
  }
}

TEST_P(Submit, MayUseOneUniformRoomAgainWhileWorkIsHeld) {
  const auto backend = connect(GetParam());
  ProgramBuilder b;
  const std::uint32_t page = b.page(kBytes);
  b.dispatch(test::bump_kernel(), {2, 1, 1}, {{page, 0, kBytes, Access::read_write}},
             test::Scale{3, 1, kN});
  b.readback({page, 0, kBytes});
  Running run(*backend, b, kN);
  fake().set_work(fake_cuda::Work::held);
  run.submit();
  const test::Scale other{7, 0, kN};
  std::memcpy(b.uniforms.data(), &other, sizeof(other));
  run.submit();
  EXPECT_EQ(run.take(0), Words(kN, 7)) << "0 * 3 + 1, and then * 7";
}

std::string way_name(const testing::TestParamInfo<std::uint32_t>& way) {
  constexpr std::array kNames{"Stream", "Graph", "StreamThenGraph"};
  return kNames.at(way.param);
}
INSTANTIATE_TEST_SUITE_P(By, Submit, testing::Values(0U, 1U, 2U), way_name);

using SteadyState = FakeCuda;

TEST_F(SteadyState, IsOneGraphLaunchAndMakesNothing) {
  const auto backend = connect();
  const ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  for (int i = 0; i < 3; ++i) {
    run.submit();
    backend->wait({static_cast<std::uint64_t>(i + 1)});
  }
  const cuda::Made before = cuda::made_by(*backend);
  EXPECT_EQ(before.graphs, 1U);
  const int launches = fake().calls("cuGraphLaunch");
  const int kernels = fake().calls("cuLaunchKernel");
  EXPECT_EQ(kernels, 2) << "the first submission goes to the stream";
  for (int i = 0; i < 5; ++i) {
    run.submit();
    backend->wait({static_cast<std::uint64_t>(i + 4)});
  }
  const cuda::Made after = cuda::made_by(*backend);
  EXPECT_EQ(fake().calls("cuGraphLaunch"), launches + 5);
  EXPECT_EQ(fake().calls("cuLaunchKernel"), kernels);
  EXPECT_EQ(after.graphs, before.graphs);
  EXPECT_EQ(after.node_updates, before.node_updates);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.staging_chunks, before.staging_chunks);
}

TEST_F(SteadyState, ChangesOnlyTheNodesThatChanged) {
  const auto backend = connect(1);
  ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  run.submit();
  program.grids[1] = {1, 1, 1};
  run.submit();
  EXPECT_EQ(cuda::made_by(*backend).node_updates, 1U);
  run.put(0, counting(3));
  run.submit();
  EXPECT_EQ(cuda::made_by(*backend).node_updates, 2U);
  run.move_uniforms();
  run.submit();
  EXPECT_EQ(cuda::made_by(*backend).node_updates, 4U) << "both kernels read uniforms";
}

using Special = FakeCuda;

TEST_F(Special, AnIndirectDispatchTakesItsCountsFromTheDevice) {
  const auto backend = connect(1);
  ProgramBuilder b;
  const std::uint32_t data = b.page(kBytes);
  const std::uint32_t counts = b.page(16);
  b.upload({counts, 0, 12, Access::write});
  b.indirect(test::bump_kernel(), {{data, 0, kBytes, Access::read_write}, {counts, 0, 12}},
             test::Scale{1, 1, kN});
  b.readback({data, 0, kBytes});
  Running run(*backend, b, kN);
  fake().set_work(fake_cuda::Work::held);
  const auto after = [&](const Words& groups) {
    run.put(0, groups);
    run.submit();
    const Words x = run.take(0);
    return std::pair(x[0], x[64]);
  };
  EXPECT_EQ(after({1, 1, 1}), std::pair(1U, 0U));
  EXPECT_EQ(after({2, 1, 1}), std::pair(2U, 1U));
  EXPECT_EQ(after({0, 1, 1}), std::pair(2U, 1U));
  EXPECT_EQ(after({70000, 1, 1}), std::pair(2U, 1U)) << "too many are none";
}

TEST_F(Special, AForeignTaskRunsInProgramOrder) {
  const auto backend = connect(1);
  ProgramBuilder b;
  const std::uint32_t page = b.page(kBytes);
  b.upload({page, 0, kBytes, Access::write});
  b.foreign({{page, 0, kBytes, Access::read_write}});
  b.dispatch(test::bump_kernel(), {2, 1, 1}, {{page, 0, kBytes, Access::read_write}},
             test::Scale{1, 1, kN});
  b.readback({page, 0, kBytes});
  Running run(*backend, b, kN);
  const auto set = reinterpret_cast<decltype(&::cuMemsetD32Async)>(
      platform::DynamicLibrary(test::fake_cuda_library()).symbol("cuMemsetD32Async"));
  for (const std::uint32_t value : {40U, 50U}) {
    run.functions = {[&](void* native, std::span<const ForeignView> views) {
      ASSERT_EQ(views.size(), 1U);
      EXPECT_EQ(views[0].bytes, kBytes);
      EXPECT_EQ(views[0].access, Access::read_write);
      set(views[0].address, value, kN, static_cast<CUstream>(native));
    }};
    run.put(0, counting(0));
    run.submit();
    EXPECT_EQ(run.take(0), Words(kN, value + 1));
  }
}

TEST_F(Special, AForeignTaskThatThrowsLeavesNothingBehind) {
  const auto backend = connect();
  ProgramBuilder b;
  const std::uint32_t page = b.page(kBytes);
  b.foreign({{page, 0, kBytes, Access::read_write}});
  Running run(*backend, b, kN);
  run.functions = {[](void*, std::span<const ForeignView>) { throw std::runtime_error("mine"); }};
  EXPECT_THROW(run.submit(), std::runtime_error);
  run.functions = {[](void*, std::span<const ForeignView>) {}};
  backend->wait(run.submit());
}

TEST_F(Special, AnEncodedProgramThatIsDroppedDoesNothing) {
  const auto backend = connect(1);
  const ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  const int before = fake().countable_calls();
  static_cast<void>(backend->encode(*run.prepared, run.submission()));
  EXPECT_EQ(fake().countable_calls(), before);
}

TEST_F(Special, AStreamOfTheCallersIsUsedAndLeftAlone) {
  ConnectOptions options = fake_options();
  options.cuda.context = fake().host_context();
  options.cuda.stream = fake().host_stream();
  {
    const auto backend = cuda::make_tuned(options, {});
    const ProgramBuilder program = chain();
    Running run(*backend, program, kN);
    run.put(0, counting(4));
    run.submit();
    EXPECT_EQ(run.take(0), chain_result(4));
    EXPECT_EQ(fake().calls("cuStreamCreate"), 0);
    EXPECT_EQ(fake().calls("cuDevicePrimaryCtxRetain"), 0);
  }
  EXPECT_GT(fake().host_stream_work(), 4);
  EXPECT_EQ(fake().calls("cuStreamDestroy"), 0);
  fake().release_work();
}

TEST_F(Special, APageThatIsMappedOrFreedIsRefused) {
  const auto backend = connect();
  const ProgramBuilder program = chain();
  Running run(*backend, program, kN);
  Submission submission = run.submission();
  const auto encoded_before = backend->encode(*run.prepared, submission);
  const memory::PageHandle page = submission.readbacks[0].page;
  backend->map(page);
  const std::string message = error_of(ErrorCode::internal, [&] { run.submit(); });
  EXPECT_NE(message.find("not given back by the host"), std::string::npos) << message;
  backend->unmap(page);
  backend->wait(run.submit());
}

}  // namespace berth::runtime::cuda_test
