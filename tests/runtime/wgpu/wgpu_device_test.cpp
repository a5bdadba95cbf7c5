// SPDX-License-Identifier: Apache-2.0
//
// Devices: which adapter, which limits, and a host's own device that is adopted and left untouched.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"

namespace berth::runtime::wgpu_test {
namespace {

std::string fact(const Backend& backend, const std::string& name) {
  for (const auto& [key, value] : backend.capabilities().facts) {
    if (key == name) return value;
  }
  return "";
}

class WgpuDevice : public testing::TestWithParam<TestDevice> {};

TEST_P(WgpuDevice, TellsWhatItIs) {
  const auto backend = connect(GetParam());
  const Capabilities& c = backend->capabilities();
  EXPECT_EQ(c.runtime, "wgpu");
  EXPECT_FALSE(c.adapter.empty());
  EXPECT_TRUE(c.exclusion);
  EXPECT_FALSE(c.copy_within_page);
  EXPECT_EQ(fact(*backend, "library path"), GetParam().library);
  EXPECT_EQ(fact(*backend, "backend"), GetParam().computes ? "vulkan" : "null");
  EXPECT_EQ(c.overlap == Overlap::by_page, GetParam().name == std::string("NativeLavapipe"));
  EXPECT_FALSE(backend->lost().has_value());
}

TEST_P(WgpuDevice, HasTheAdaptersTrueLimits) {
  const auto backend = connect(GetParam());
  const Limits& limits = backend->capabilities().limits;
  EXPECT_EQ(limits.max_page_bytes % 4, 0U);
  if (GetParam().name == std::string("NativeLavapipe")) {
    EXPECT_EQ(limits.max_storage_bindings, 32U);
    EXPECT_EQ(limits.max_page_bytes, 2 * kGiB - 4);
    EXPECT_EQ(limits.offset_alignment, 32U);
  } else if (GetParam().computes) {
    EXPECT_EQ(limits.max_storage_bindings, 10U);
    EXPECT_EQ(limits.max_page_bytes, kGiB);
    EXPECT_EQ(limits.offset_alignment, 256U);
  }
}

TEST_P(WgpuDevice, LowersLimitsByOption) {
  ConnectOptions options = options_for(GetParam());
  options.limits.max_page_bytes = kMiB + 2;
  options.limits.max_binding_bytes = 64 * kKiB;
  options.limits.max_storage_bindings = 4;
  options.limits.max_groups_per_dimension = 100;
  options.limits.offset_alignment = 512;
  const auto backend = make_wgpu(options);
  const Limits& limits = backend->capabilities().limits;
  EXPECT_EQ(limits.max_page_bytes, kMiB);
  EXPECT_EQ(backend->max_page_bytes(), kMiB);
  EXPECT_EQ(limits.max_binding_bytes, 64 * kKiB);
  EXPECT_EQ(limits.max_storage_bindings, 4U);
  EXPECT_EQ(limits.max_groups_per_dimension, 100U);
  EXPECT_EQ(limits.offset_alignment, 512U);
  const auto made = backend->make_page({kMiB + 4, memory::PageUse::storage, "large"});
  ASSERT_TRUE(made.failure.has_value());
  EXPECT_EQ(made.failure->kind, memory::StorageFailure::Kind::never_fits);
}

TEST_P(WgpuDevice, RaisingALimitAboveTheDevicesHasNoEffect) {
  const Limits own = connect(GetParam())->capabilities().limits;
  ConnectOptions options = options_for(GetParam());
  options.limits.max_page_bytes = 1024 * kGiB;
  options.limits.max_storage_bindings = 1000000;
  options.limits.offset_alignment = 4;
  const Limits limits = make_wgpu(options)->capabilities().limits;
  EXPECT_EQ(limits.max_page_bytes, own.max_page_bytes);
  EXPECT_EQ(limits.max_storage_bindings, own.max_storage_bindings);
  EXPECT_EQ(limits.offset_alignment, own.offset_alignment);
}

TEST_P(WgpuDevice, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  ConnectOptions options = options_for(GetParam());
  options.limits.offset_alignment = 48;
  error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(make_wgpu(options)); });
}

TEST_P(WgpuDevice, AnAdapterIsFoundByPartOfItsName) {
  const std::string name = connect(GetParam())->capabilities().adapter;
  ConnectOptions options = options_for(GetParam());
  options.webgpu.adapter_name = name.substr(1, 4);
  EXPECT_EQ(make_wgpu(options)->capabilities().adapter, name);
  options.webgpu.adapter_name = "no such thing";
  const std::string message =
      error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_wgpu(options)); });
  EXPECT_NE(message.find(name), std::string::npos) << message;
}

TEST_P(WgpuDevice, RefusesAnUnknownBackendAndOneThatIsNotThere) {
  ConnectOptions options = options_for(GetParam());
  options.webgpu.backend = "glide";
  const std::string message =
      error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(make_wgpu(options)); });
  EXPECT_NE(message.find("vulkan"), std::string::npos) << message;
  options.webgpu.backend = "metal";
  error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_wgpu(options)); });
}

TEST_P(WgpuDevice, AnIncompleteDeviceOfTheCallersIsRefused) {
  ConnectOptions options = options_for(GetParam());
  int something = 0;
  options.webgpu.device = &something;
  error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(make_wgpu(options)); });
}

/// A host with a device of its own, with default limits and callbacks that count.
class Host {
 public:
  explicit Host(const TestDevice& target) : table_(target), null_(!target.computes) {
    options_ = table_.options();
    // Without OpenGL, whose drivers leak.
    WGPUInstanceExtras extras{};
    extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
    extras.flags = WGPUInstanceFlag_Default;
    extras.backends = WGPUInstanceBackend_Primary;
    WGPUInstanceDescriptor native{};
    native.nextInChain = &extras.chain;
    const bool is_native = real<void*>("wgpuGetVersion") != nullptr;
    instance = real<WGPUProcCreateInstance>("wgpuCreateInstance")(is_native ? &native : nullptr);
    WGPURequestAdapterOptions wish = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    if (null_) wish.backendType = WGPUBackendType_Null;
    WGPURequestAdapterCallbackInfo on_adapter{};
    on_adapter.mode = WGPUCallbackMode_AllowProcessEvents;
    on_adapter.userdata1 = static_cast<void*>(&adapter);
    on_adapter.callback = [](WGPURequestAdapterStatus, WGPUAdapter a, WGPUStringView, void* out,
                             void*) { *static_cast<WGPUAdapter*>(out) = a; };
    real<WGPUProcInstanceRequestAdapter>("wgpuInstanceRequestAdapter")(instance, &wish, on_adapter);
    pump([&] { return adapter != nullptr; });
    if (adapter == nullptr) throw std::runtime_error("the host finds no adapter");
    WGPUDeviceDescriptor descriptor{};
    descriptor.uncapturedErrorCallbackInfo.userdata1 = &errors;
    descriptor.uncapturedErrorCallbackInfo.callback = [](const WGPUDevice*, WGPUErrorType,
                                                         WGPUStringView, void* count,
                                                         void*) { ++*static_cast<int*>(count); };
    WGPURequestDeviceCallbackInfo on_device{};
    on_device.mode = WGPUCallbackMode_AllowProcessEvents;
    on_device.userdata1 = static_cast<void*>(&device);
    on_device.callback = [](WGPURequestDeviceStatus, WGPUDevice d, WGPUStringView, void* out,
                            void*) { *static_cast<WGPUDevice*>(out) = d; };
    real<WGPUProcAdapterRequestDevice>("wgpuAdapterRequestDevice")(adapter, &descriptor, on_device);
    pump([&] { return device != nullptr; });
    if (device == nullptr) throw std::runtime_error("the host gets no device");
    queue = real<WGPUProcDeviceGetQueue>("wgpuDeviceGetQueue")(device);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    real<WGPUProcQueueRelease>("wgpuQueueRelease")(queue);
    real<WGPUProcDeviceRelease>("wgpuDeviceRelease")(device);
    real<WGPUProcAdapterRelease>("wgpuAdapterRelease")(adapter);
    real<WGPUProcInstanceRelease>("wgpuInstanceRelease")(instance);
  }

  [[nodiscard]] ConnectOptions options() {
    options_.webgpu.instance = instance;
    options_.webgpu.device = device;
    options_.webgpu.queue = queue;
    options_.webgpu.backend.clear();
    return options_;
  }
  template <class Function>
  [[nodiscard]] Function real(const char* name) const {
    return table_.real<Function>(name);
  }
  [[nodiscard]] PatchedTable& table() { return table_; }

  void push_scope() {
    real<WGPUProcDevicePushErrorScope>("wgpuDevicePushErrorScope")(device,
                                                                   WGPUErrorFilter_Validation);
  }
  [[nodiscard]] WGPUErrorType pop_scope() {
    WGPUErrorType type = WGPUErrorType_Unknown;
    WGPUPopErrorScopeCallbackInfo info{};
    info.mode = WGPUCallbackMode_AllowSpontaneous;
    info.userdata1 = &type;
    info.callback = [](WGPUPopErrorScopeStatus, WGPUErrorType t, WGPUStringView, void* out, void*) {
      *static_cast<WGPUErrorType*>(out) = t;
    };
    real<WGPUProcDevicePopErrorScope>("wgpuDevicePopErrorScope")(device, info);
    return type;
  }

  WGPUInstance instance = nullptr;
  WGPUAdapter adapter = nullptr;
  WGPUDevice device = nullptr;
  WGPUQueue queue = nullptr;
  int errors = 0;

 private:
  template <class Done>
  void pump(Done done) const {
    for (int i = 0; i < 100000 && !done(); ++i) {
      real<WGPUProcInstanceProcessEvents>("wgpuInstanceProcessEvents")(instance);
    }
  }
  PatchedTable table_;
  bool null_;
  ConnectOptions options_;
};

int& releases() {
  static int count = 0;
  return count;
}

TEST_P(WgpuDevice, AHostsOwnDeviceIsAdoptedAndLeftUntouched) {
  Host host(GetParam());
  releases() = 0;
  host.table().patch("wgpuDeviceRelease", +[](WGPUDevice) { ++releases(); });
  host.table().patch("wgpuQueueRelease", +[](WGPUQueue) { ++releases(); });
  host.table().patch("wgpuAdapterRelease", +[](WGPUAdapter) { ++releases(); });
  host.table().patch("wgpuInstanceRelease", +[](WGPUInstance) { ++releases(); });
  host.push_scope();
  {
    const auto backend = make_wgpu(host.options());
    EXPECT_EQ(fact(*backend, "device"), "the caller's");
    EXPECT_EQ(backend->capabilities().limits.max_storage_bindings, 8U) << "the default limits";

    // Errors of ours stay ours: in a kernel, in a page, at finish.
    const Kernel broken = kernel_of("broken", {}, "no WGSL");
    error_of(ErrorCode::kernel, [&] { backend->compile(broken, Variant::plain, 0); });
    ProgramBuilder b;
    const auto x = b.page(256);
    const auto y = b.page(256);
    const auto add_one = b.kernel(add_one_kernel());
    b.dispatch(add_one, {}, {{x, 0, 256}, {y, 0, 256, Access::write}}, "fine");
    b.readback({y, 0, 256});
    const auto program = b.program();
    const auto pages = make_pages(*backend, *program);
    const auto prepared = backend->prepare(program, pages);
    const HostSlice target{make_page(*backend, 256, memory::PageUse::readback), 0};
    Submission submission;
    const std::array bad{Grid{65536, 1, 1}};
    submission.grids = bad;
    submission.readbacks = {&target, 1};
    error_of(ErrorCode::device,
             [&] { static_cast<void>(submit(*backend, *prepared, submission)); });
    submission.grids = b.grids();
    backend->wait(submit(*backend, *prepared, submission));
    if (GetParam().computes) {
      EXPECT_EQ(read_back(*backend, target.page)[0], 1.0F);
    }
  }
  EXPECT_EQ(host.pop_scope(), WGPUErrorType_NoError);
  EXPECT_EQ(host.errors, 0);
  EXPECT_EQ(releases(), 0);

  // His device works on.
  host.push_scope();
  WGPUBufferDescriptor descriptor{};
  descriptor.size = 64;
  descriptor.usage = WGPUBufferUsage_Storage;
  WGPUBuffer buffer =
      host.real<WGPUProcDeviceCreateBuffer>("wgpuDeviceCreateBuffer")(host.device, &descriptor);
  EXPECT_EQ(host.pop_scope(), WGPUErrorType_NoError);
  host.real<WGPUProcBufferRelease>("wgpuBufferRelease")(buffer);
}

TEST_P(WgpuDevice, WithAHostThatPumpsItIsNeverPumpedByPoll) {
  Host host(GetParam());
  releases() = 0;
  host.table().patch("wgpuInstanceProcessEvents", +[](WGPUInstance) { ++releases(); });
  if (GetParam().name == std::string("NativeLavapipe")) {
    host.table().patch(
        "wgpuDevicePoll", +[](WGPUDevice, WGPUBool, const WGPUSubmissionIndex*) -> WGPUBool {
          ++releases();
          return WGPU_TRUE;
        });
  }
  ConnectOptions options = host.options();
  options.events = Events::host_pumps;
  const auto backend = make_wgpu(options);
  EXPECT_EQ(backend->capabilities().waiting, Waiting::host_pumps);
  ProgramBuilder b;
  const auto x = b.page(256);
  b.fill({x, 0, 256});
  const auto program = b.program();
  const auto pages = make_pages(*backend, *program);
  const auto prepared = backend->prepare(program, pages);
  const Ticket ticket = submit(*backend, *prepared, {});
  static_cast<void>(backend->poll());
  EXPECT_EQ(releases(), 0);
  while (backend->poll() < ticket) {
    host.real<WGPUProcInstanceProcessEvents>("wgpuInstanceProcessEvents")(host.instance);
  }
  backend->wait(ticket);
  EXPECT_EQ(releases(), 0);
  // Dropped with work under way: neither waits nor destroys what is in use.
  static_cast<void>(submit(*backend, *prepared, {}));
}

INSTANTIATE_TEST_SUITE_P(Devices, WgpuDevice, testing::ValuesIn(all_targets()),
                         [](const auto& p) { return name_of_target(p.param); });

TEST(WgpuDeviceNull, IsNeverTakenUnlessAskedFor) {
  ConnectOptions options = options_for(dawn_null());
  options.webgpu.backend.clear();
  setenv("VK_ICD_FILENAMES", "/nowhere.json", 1);  // NOLINT: one thread
  const std::string message =
      error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_wgpu(options)); });
  EXPECT_FALSE(message.empty());
}

}  // namespace
}  // namespace berth::runtime::wgpu_test
