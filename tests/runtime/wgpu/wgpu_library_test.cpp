// SPDX-License-Identifier: Apache-2.0
//
// The table of entry points and the libraries it comes from.
#include "runtime/wgpu/wgpu_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "berth/error.hpp"
#include "runtime/wgpu/wgpu_fixture.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"
#include "runtime/wgpu/wgpu_table.hpp"

namespace berth::runtime::wgpu_test {
namespace {

using wgpu::fill_table;
using wgpu::LibraryKind;

std::set<std::string>& asked() {
  static std::set<std::string> names;
  return names;
}

wgpu::Table recorded_table(const TestDevice& target) {
  asked().clear();
  const platform::DynamicLibrary library{std::string(target.library)};
  return fill_table(
      [&](const char* name) {
        asked().insert(name);
        return library.symbol(name);
      },
      "here");
}

TEST(WgpuTable, KnowsWhichLibraryItIs) {
  EXPECT_EQ(recorded_table(native_lavapipe()).kind, LibraryKind::wgpu_native);
  EXPECT_EQ(recorded_table(dawn_null()).kind, LibraryKind::dawn);
}

TEST(WgpuTable, NeverAsksForAFunctionThatEndsTheProcess) {
  recorded_table(native_lavapipe());
  for (const char* stub :
       {"wgpuInstanceWaitAny", "wgpuShaderModuleGetCompilationInfo", "wgpuBufferGetMapState",
        "wgpuDeviceGetLostFuture", "wgpuGetProcAddress", "wgpuDeviceCreateComputePipelineAsync",
        "wgpuDeviceCreateRenderPipelineAsync", "wgpuDeviceGetAdapterInfo",
        "wgpuBufferReadMappedRange", "wgpuBufferWriteMappedRange", "wgpuGetInstanceFeatures",
        "wgpuGetInstanceLimits", "wgpuHasInstanceFeature"}) {
    EXPECT_FALSE(asked().contains(stub)) << stub;
  }
  for (const std::string& name : asked()) {
    EXPECT_EQ(name.find("SetLabel"), std::string::npos) << name;
  }
}

TEST(WgpuTable, LooksForExtrasOfWgpuNativeOnlyThere) {
  const wgpu::Table native = recorded_table(native_lavapipe());
  EXPECT_NE(native.DevicePoll, nullptr);
  EXPECT_NE(native.DeviceCreateShaderModuleTrusted, nullptr);
  const wgpu::Table dawn = recorded_table(dawn_null());
  EXPECT_EQ(dawn.DevicePoll, nullptr);
  EXPECT_FALSE(asked().contains("wgpuDeviceCreateShaderModuleTrusted"));
}

TEST(WgpuTable, NamesAnyRequiredFunctionThatIsMissing) {
  for (const char* missing : wgpu::required_entry_points()) {
    const std::string message = error_of(ErrorCode::unavailable, [&] {
      static int something = 0;
      static_cast<void>(fill_table(
          [&](const char* name) -> void* {
            return std::strcmp(name, missing) == 0 ? nullptr : &something;
          },
          "made up"));
    });
    EXPECT_NE(message.find(missing), std::string::npos) << message;
  }
}

TEST(WgpuLibrary, ThatIsNotThereIsUnavailableWithItsName) {
  ConnectOptions options;
  options.webgpu.library = "/nowhere/libwebgpu.so";
  const std::string message =
      error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_wgpu(options)); });
  EXPECT_NE(message.find("/nowhere/libwebgpu.so"), std::string::npos) << message;
}

TEST(WgpuLibrary, ThatIsNoWebGpuLibraryIsUnavailable) {
  ConnectOptions options;
  options.webgpu.library = "libm.so.6";
  const std::string message =
      error_of(ErrorCode::unavailable, [&] { static_cast<void>(make_wgpu(options)); });
  EXPECT_NE(message.find("wgpuCreateInstance"), std::string::npos) << message;
}

TEST(WgpuLibrary, TellsItsVersionAndPath) {
  const wgpu::Library library = wgpu::load_library(options_for(native_lavapipe()).webgpu);
  EXPECT_EQ(library.name.rfind("wgpu-native 29.", 0), 0U) << library.name;
  EXPECT_EQ(library.path, native_lavapipe().library);
}

TEST(WgpuLibrary, AFunctionOfTheCallersComesFirst) {
  PatchedTable table(dawn_null());
  ConnectOptions options = table.options();
  options.webgpu.library = "/nowhere/libwebgpu.so";
  EXPECT_EQ(wgpu::load_library(options.webgpu).path, "given by the caller");
}

}  // namespace
}  // namespace berth::runtime::wgpu_test
