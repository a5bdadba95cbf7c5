// SPDX-License-Identifier: Apache-2.0
//
// The submit path on every device: programs built by hand, what is refused and by whom.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"

namespace berth::runtime::wgpu_test {
namespace {

constexpr Bytes kBytes = 256;  // 64 floats

class WgpuSubmit : public testing::TestWithParam<TestDevice> {
 protected:
  void SetUp() override { backend = connect(GetParam()); }

  /// Prepares, submits and returns what the readbacks hold; zeros where nothing computes.
  std::vector<std::vector<float>> run(const ProgramBuilder& builder,
                                      const std::vector<std::vector<float>>& uploads) {
    const auto program = builder.program();
    const auto pages = make_pages(*backend, *program);
    const auto prepared = backend->prepare(program, pages);
    std::vector<HostSlice> sources;
    sources.reserve(uploads.size());
    for (const auto& values : uploads) sources.push_back({staged(*backend, values), 0});
    std::vector<HostSlice> targets;
    targets.reserve(program->readbacks);
    for (std::uint32_t i = 0; i < program->readbacks; ++i) {
      targets.push_back({make_page(*backend, kBytes, memory::PageUse::readback), 0});
    }
    Submission submission;
    submission.grids = builder.grids();
    submission.uniforms = builder.uniforms();
    submission.uploads = sources;
    submission.readbacks = targets;
    if (program->uniform_bytes != 0) {
      // Not at the page's head: the dynamic offset is that of the room and that of the task.
      submission.uniform_room = {
          make_page(*backend, program->uniform_bytes + 256, memory::PageUse::uniform), 256};
    }
    const Ticket ticket = submit(*backend, *prepared, submission);
    backend->wait(ticket);
    EXPECT_GE(backend->poll(), ticket);
    std::vector<std::vector<float>> results;
    results.reserve(targets.size());
    for (const HostSlice& target : targets) results.push_back(read_back(*backend, target.page));
    return results;
  }

  std::unique_ptr<Backend> backend;
};

std::vector<float> counting() {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

struct AxpyUniforms {
  float a;
  std::uint32_t n;
};

TEST_P(WgpuSubmit, RunsEveryKindOfCommandInOrder) {
  ProgramBuilder b;
  const auto in = b.page(2 * kBytes);
  const auto out = b.page(2 * kBytes);
  const auto other = b.page(2 * kBytes);
  const auto axpy = b.kernel(axpy_kernel());
  const auto add_one = b.kernel(add_one_kernel());
  const AxpyUniforms whole{2.0F, 64};
  const AxpyUniforms half{10.0F, 32};
  b.upload({in, 0, kBytes});
  b.fill({in, kBytes, kBytes});
  // x read twice in one dispatch, beside another range of its page.
  b.dispatch(axpy, {}, {{in, 0, kBytes}, {in, kBytes, kBytes}, {out, 0, kBytes, Access::write}},
             "2 x + 0", std::as_bytes(std::span(&whole, 1)));
  b.dispatch(add_one, {}, {{out, 0, kBytes}, {other, 0, kBytes, Access::write}}, "plus one");
  b.begin_pass();
  b.dispatch(axpy, {}, {{other, 0, kBytes}, {in, 0, kBytes}, {out, kBytes, kBytes, Access::write}},
             "half", std::as_bytes(std::span(&half, 1)));
  b.copy({out, kBytes, kBytes}, {other, kBytes, kBytes});
  b.readback({other, 0, kBytes});
  b.readback({other, kBytes, kBytes});
  const auto results = run(b, {counting()});
  if (!GetParam().computes) return;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_EQ(results[0][i], 2 * x + 1) << i;
    EXPECT_EQ(results[1][i], i < 32 ? 10 * (2 * x + 1) + x : 0) << i;
  }
}

TEST_P(WgpuSubmit, AnUploadIsSeenByTheKernelAfterItAndNotByTheOneBefore) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  const auto first = b.page(kBytes);
  const auto second = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.upload({x, 0, kBytes});
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {first, 0, kBytes, Access::write}}, "before");
  b.upload({x, 0, kBytes});
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {second, 0, kBytes, Access::write}}, "after");
  b.readback({first, 0, kBytes});
  b.readback({second, 0, kBytes});
  const auto results = run(b, {std::vector<float>(64, 1.0F), std::vector<float>(64, 5.0F)});
  if (!GetParam().computes) return;
  EXPECT_EQ(results[0], std::vector<float>(64, 2.0F));
  EXPECT_EQ(results[1], std::vector<float>(64, 6.0F));
}

TEST_P(WgpuSubmit, APreparedProgramRunsOftenWithoutNewBindGroups) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}}, "there");
  b.dispatch(add_one, {}, {{y, 0, kBytes}, {x, 0, kBytes, Access::write}}, "back");
  b.readback({x, 0, kBytes});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  EXPECT_EQ(prepared->bind_groups_made(), 2U);
  const HostSlice target{make_page(*backend, kBytes, memory::PageUse::readback), 0};
  Submission submission;
  submission.grids = b.grids();
  submission.readbacks = {&target, 1};
  Ticket last;
  for (int i = 0; i < 10; ++i) {
    const Ticket ticket = submit(*backend, *prepared, submission);
    EXPECT_GT(ticket, last);
    last = ticket;
  }
  backend->wait(last);
  if (GetParam().computes) {
    EXPECT_EQ(read_back(*backend, target.page)[7], 20.0F);
  }
  EXPECT_EQ(backend->prepare(program, pages)->bind_groups_made(), 0U);
}

TEST_P(WgpuSubmit, TakesWorkgroupCountsFromATensor) {
  ProgramBuilder b;
  const auto counts = b.page(kBytes);
  const auto x = b.page(kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.upload({counts, 0, kBytes});
  b.indirect(add_one, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}, {counts, 0, 12}}, "counted");
  b.readback({y, 0, kBytes});
  const auto program = b.program();
  const std::array pages{
      make_page(*backend, kBytes, memory::PageUse::storage | memory::PageUse::indirect),
      make_page(*backend, kBytes), make_page(*backend, kBytes)};
  const auto prepared = backend->prepare(program, pages);
  for (const std::uint32_t groups : {0U, 1U}) {
    std::vector<float> words(64);
    const std::array<std::uint32_t, 3> grid{groups, 1, 1};
    std::memcpy(words.data(), grid.data(), sizeof(grid));
    const HostSlice source{staged(*backend, words), 0};
    const HostSlice target{make_page(*backend, kBytes, memory::PageUse::readback), 0};
    Submission submission;
    submission.uploads = {&source, 1};
    submission.readbacks = {&target, 1};
    backend->wait(submit(*backend, *prepared, submission));
    if (GetParam().computes) {
      EXPECT_EQ(read_back(*backend, target.page)[3], groups == 0 ? 0.0F : 1.0F);
    }
  }
}

TEST_P(WgpuSubmit, RefusesAPageReadAndWrittenInOneDispatch) {
  ProgramBuilder b;
  const auto page = b.page(2 * kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.dispatch(add_one, {}, {{page, 0, kBytes}, {page, kBytes, kBytes, Access::write}}, "clash");
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const std::string message =
      error_of(ErrorCode::internal, [&] { static_cast<void>(backend->prepare(program, pages)); });
  EXPECT_NE(message.find("\"clash\""), std::string::npos) << message;
  EXPECT_NE(message.find("[256, 512)"), std::string::npos) << message;
}

TEST_P(WgpuSubmit, RefusesTwoSymbolicPagesOnOneRealPage) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}}, "aliased");
  const memory::PageHandle page = make_page(*backend, kBytes);
  const std::array pages{page, page};
  const std::string message = error_of(
      ErrorCode::internal, [&] { static_cast<void>(backend->prepare(b.program(), pages)); });
  EXPECT_NE(message.find("\"aliased\""), std::string::npos) << message;
}

TEST_P(WgpuSubmit, RefusesACopyWithinOnePage) {
  ProgramBuilder b;
  const auto page = b.page(2 * kBytes);
  b.copy({page, 0, kBytes}, {page, kBytes, kBytes}, "within");
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const std::string message =
      error_of(ErrorCode::internal, [&] { static_cast<void>(backend->prepare(program, pages)); });
  EXPECT_NE(message.find("\"within\""), std::string::npos) << message;
}

TEST_P(WgpuSubmit, AnErrorAtFinishNamesTheTaskAndSubmitsNothing) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.fill({x, 0, kBytes});
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}}, "fine");
  const std::uint32_t too_many = backend->capabilities().limits.max_groups_per_dimension + 1;
  b.dispatch(add_one, {too_many, 1, 1}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}},
             "the culprit");
  b.readback({y, 0, kBytes});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const HostSlice target{make_page(*backend, kBytes, memory::PageUse::readback), 0};
  Submission submission;
  submission.grids = b.grids();
  submission.readbacks = {&target, 1};
  const Ticket before = backend->poll();
  const std::string message = error_of(
      ErrorCode::device, [&] { static_cast<void>(submit(*backend, *prepared, submission)); });
  EXPECT_NE(message.find("\"the culprit\""), std::string::npos) << message;
  EXPECT_NE(message.find("Nothing was submitted"), std::string::npos) << message;
  EXPECT_EQ(backend->poll(), before);

  // The device goes on: the same program with a grid that is allowed.
  std::vector<Grid> grids = b.grids();
  grids.back() = Grid{};
  submission.grids = grids;
  backend->wait(submit(*backend, *prepared, submission));
  if (GetParam().computes) {
    EXPECT_EQ(read_back(*backend, target.page)[0], 1.0F);
  }
}

TEST_P(WgpuSubmit, ARefusedBindGroupNamesTheTask) {
  ProgramBuilder b;
  const auto x = b.page(2 * kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}}, "fine");
  b.dispatch(add_one, {}, {{x, 4, kBytes}, {y, 0, kBytes, Access::write}}, "crooked");
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const std::string message =
      error_of(ErrorCode::device, [&] { static_cast<void>(backend->prepare(program, pages)); });
  EXPECT_NE(message.find("\"crooked\""), std::string::npos) << message;
}

TEST_P(WgpuSubmit, AFreedPageMakesItsPreparedProgramsUnusable) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  b.fill({x, 0, kBytes});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  auto encoded = backend->encode(*prepared, {});
  backend->free_page(pages[0]);
  error_of(ErrorCode::internal, [&] { static_cast<void>(backend->submit(std::move(encoded))); });
  error_of(ErrorCode::internal, [&] { static_cast<void>(backend->encode(*prepared, {})); });
}

TEST_P(WgpuSubmit, AFreedPageInUseLivesUntilItsWorkIsDone) {
  ProgramBuilder b;
  const auto x = b.page(16 * kMiB);
  const auto y = b.page(16 * kMiB);
  for (int i = 0; i < 8; ++i) b.copy({x, 0, 16 * kMiB}, {y, 0, 16 * kMiB});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const Ticket ticket = submit(*backend, *prepared, {});
  for (const memory::PageHandle page : pages) backend->free_page(page);
  backend->wait(ticket);
}

TEST_P(WgpuSubmit, AnEncodedWindowMayBeDropped) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  b.fill({x, 0, kBytes});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const Ticket before = backend->poll();
  backend->encode(*prepared, {}).reset();
  EXPECT_EQ(backend->poll(), before);
  backend->wait(submit(*backend, *prepared, {}));
}

TEST_P(WgpuSubmit, OtherThreadsMayPollWaitCompileAndEncode) {
  ProgramBuilder b;
  const auto x = b.page(kBytes);
  const auto y = b.page(kBytes);
  const auto add_one = b.kernel(add_one_kernel());
  b.dispatch(add_one, {}, {{x, 0, kBytes}, {y, 0, kBytes, Access::write}}, "there");
  b.dispatch(add_one, {}, {{y, 0, kBytes}, {x, 0, kBytes, Access::write}}, "back");
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const auto others = backend->prepare(program, pages);
  Submission submission;
  submission.grids = b.grids();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> last{0};
  std::thread waiter([&] {
    while (!stop) backend->wait({last});
  });
  std::thread encoder([&] {
    while (!stop) backend->encode(*others, submission).reset();
  });
  std::thread compiler([&] {
    for (int i = 0; i < 5; ++i) backend->compile(add_one_kernel(), Variant::plain, 0);
  });
  for (int i = 0; i < 200; ++i) {
    last = submit(*backend, *prepared, submission).value;
    static_cast<void>(backend->poll());
    const auto page = make_page(*backend, kBytes);
    backend->free_page(page);
  }
  compiler.join();
  stop = true;
  waiter.join();
  encoder.join();
  backend->wait({last});
}

INSTANTIATE_TEST_SUITE_P(Devices, WgpuSubmit, testing::ValuesIn(all_targets()),
                         [](const auto& p) { return name_of_target(p.param); });

}  // namespace
}  // namespace berth::runtime::wgpu_test
