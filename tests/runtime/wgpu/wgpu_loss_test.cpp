// SPDX-License-Identifier: Apache-2.0
//
// A device that goes away: everything throws DeviceLost, nothing hangs, nothing is submitted.
#include <gtest/gtest.h>

#include <thread>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"

namespace berth::runtime::wgpu_test {
namespace {

// C functions have no closure: the table of the test under way.
struct Seen {
  PatchedTable* table = nullptr;
  WGPUDevice device = nullptr;
  WGPURequestDeviceCallbackInfo wanted{};
  WGPUDeviceLostCallbackInfo lost{};
  int submits = 0;
  WGPUQueueWorkDoneCallbackInfo never_done{};
};
Seen& seen() {
  static Seen instance;
  return instance;
}

WGPUFuture request_device(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                          WGPURequestDeviceCallbackInfo info) {
  seen().wanted = info;
  seen().lost = descriptor->deviceLostCallbackInfo;
  info.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                     void* a, void* b) {
    seen().device = device;
    seen().wanted.callback(status, device, message, a, b);
  };
  return seen().table->real<WGPUProcAdapterRequestDevice>("wgpuAdapterRequestDevice")(
      adapter, descriptor, info);
}

void count_submit(WGPUQueue queue, std::size_t count, const WGPUCommandBuffer* buffers) {
  ++seen().submits;
  seen().table->real<WGPUProcQueueSubmit>("wgpuQueueSubmit")(queue, count, buffers);
}

WGPUFuture never_done(WGPUQueue /*queue*/, WGPUQueueWorkDoneCallbackInfo info) {
  seen().never_done = info;
  return {};
}

class WgpuLoss : public testing::TestWithParam<TestDevice> {
 protected:
  void SetUp() override {
    table = std::make_unique<PatchedTable>(GetParam());
    seen() = {};
    seen().table = table.get();
    table->patch("wgpuAdapterRequestDevice", &request_device);
    table->patch("wgpuQueueSubmit", &count_submit);
  }
  void TearDown() override {
    // What was kept back is told at last, as a library would when its queue goes.
    const WGPUQueueWorkDoneCallbackInfo& kept = seen().never_done;
    if (kept.callback != nullptr) {
      kept.callback(WGPUQueueWorkDoneStatus_CallbackCancelled, {}, kept.userdata1, kept.userdata2);
    }
  }
  void open() {
    backend = make_wgpu(table->options());
    ProgramBuilder b;
    const auto x = b.page(256);
    b.fill({x, 0, 256});
    program = b.program();
    pages = make_pages(*backend, *program);
    prepared = backend->prepare(program, pages);
    staging = make_page(*backend, 256, memory::PageUse::upload);
    backend->unmap(staging);
  }
  void destroy_device() { table->real<WGPUProcDeviceDestroy>("wgpuDeviceDestroy")(seen().device); }
  void expect_lost_everywhere() {
    const auto lost = [&](const std::function<void()>& call) { EXPECT_THROW(call(), DeviceLost); };
    lost([&] { static_cast<void>(backend->encode(*prepared, {})); });
    lost([&] { static_cast<void>(backend->make_page({256, memory::PageUse::storage, ""})); });
    lost([&] { backend->compile(add_one_kernel(), Variant::plain, 0); });
    lost([&] { static_cast<void>(backend->prepare(program, pages)); });
    lost([&] { backend->wait({}); });
    lost([&] { backend->map(staging); });
    EXPECT_TRUE(backend->lost().has_value());
    static_cast<void>(backend->poll());
    backend->free_page(pages[0]);
  }

  std::unique_ptr<PatchedTable> table;
  std::unique_ptr<Backend> backend;
  std::shared_ptr<const plan::Program> program;
  std::vector<memory::PageHandle> pages;
  std::unique_ptr<Prepared> prepared;
  memory::PageHandle staging;
};

TEST_P(WgpuLoss, ADestroyedDeviceIsNoticedAtTheNextSubmitWhichIsNotMade) {
  open();
  backend->wait(submit(*backend, *prepared, {}));
  auto encoded = backend->encode(*prepared, {});
  const int submits = seen().submits;
  destroy_device();
  EXPECT_THROW(static_cast<void>(backend->submit(std::move(encoded))), DeviceLost);
  EXPECT_EQ(seen().submits, submits);
  expect_lost_everywhere();
}

TEST_P(WgpuLoss, ADestroyedDeviceIsNoticedWhenAPageIsMade) {
  open();
  destroy_device();
  EXPECT_THROW(static_cast<void>(backend->make_page({256, memory::PageUse::storage, ""})),
               DeviceLost);
  expect_lost_everywhere();
}

TEST_P(WgpuLoss, ADestroyedDeviceIsNoticedByEncodeAndSubmit) {
  open();
  destroy_device();
  EXPECT_THROW(static_cast<void>(submit(*backend, *prepared, {})), DeviceLost);
  EXPECT_EQ(seen().submits, 0);
  expect_lost_everywhere();
}

TEST_P(WgpuLoss, AWaitEndsWhenTheDeviceIsLost) {
  table->patch("wgpuQueueOnSubmittedWorkDone", &never_done);
  open();
  const Ticket ticket = submit(*backend, *prepared, {});
  std::thread loser([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const WGPUDeviceLostCallbackInfo& lost = seen().lost;
    // Not counted: the library calls the real one itself, later.
    lost.callback(&seen().device, WGPUDeviceLostReason_Unknown, {"pulled out", 10}, lost.userdata1,
                  nullptr);
  });
  EXPECT_THROW(backend->wait(ticket), DeviceLost);
  loser.join();
  EXPECT_NE(backend->lost()->find("pulled out"), std::string::npos);
  expect_lost_everywhere();
}

TEST_P(WgpuLoss, AnErrorOutsideOfAnyScopeSurfacesOnce) {
  open();
  // An error of nobody's: as if the library reported one late.
  WGPUBufferDescriptor bad{};
  bad.size = 3;
  bad.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_MapWrite;
  WGPUBuffer buffer =
      table->real<WGPUProcDeviceCreateBuffer>("wgpuDeviceCreateBuffer")(seen().device, &bad);
  if (buffer != nullptr) table->real<WGPUProcBufferRelease>("wgpuBufferRelease")(buffer);
  error_of(ErrorCode::device, [&] { static_cast<void>(submit(*backend, *prepared, {})); });
  backend->wait(submit(*backend, *prepared, {}));
}

INSTANTIATE_TEST_SUITE_P(Devices, WgpuLoss, testing::ValuesIn(all_targets()),
                         [](const auto& p) { return name_of_target(p.param); });

}  // namespace
}  // namespace berth::runtime::wgpu_test
