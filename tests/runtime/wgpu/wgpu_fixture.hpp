// SPDX-License-Identifier: Apache-2.0
//
// The devices that the wgpu runtime's tests run on, programs built by hand, and a table whose
// single functions a test replaces. Tests of one process share nothing; each makes its own device.
#pragma once

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/error.hpp"
#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "plan/program.hpp"
#include "platform/dynamic_library.hpp"
#include "runtime/backend.hpp"

namespace berth::runtime::wgpu_test {

/// A library and the device it finds.
struct TestDevice {
  const char* name;
  std::string_view library;
  const char* backend;  ///< WebGpuOptions::backend
  bool swiftshader;     ///< the Vulkan driver is SwiftShader, else the system's
  bool computes;        ///< false: commands are checked and nothing runs
};
[[nodiscard]] const TestDevice& native_lavapipe();
[[nodiscard]] const TestDevice& dawn_swiftshader();
[[nodiscard]] const TestDevice& dawn_null();
[[nodiscard]] std::vector<TestDevice> all_targets();
[[nodiscard]] std::string name_of_target(const TestDevice& target);

/// Options for a target. Chooses the process's Vulkan driver as a side effect.
[[nodiscard]] ConnectOptions options_for(const TestDevice& target);
[[nodiscard]] std::unique_ptr<Backend> connect(const TestDevice& target);

/// An entry-point table of a library in which a test puts its own functions.
class PatchedTable {
 public:
  explicit PatchedTable(const TestDevice& target);
  /// Replaces a function; nullptr = it is missing.
  void patch(const std::string& name, void* function) { patches_[name] = function; }
  template <class Function>
  void patch(const std::string& name, Function* function) {
    patches_[name] = reinterpret_cast<void*>(function);
  }
  /// The library's own function.
  template <class Function>
  [[nodiscard]] Function real(const char* name) const {
    return reinterpret_cast<Function>(library_.symbol(name));
  }
  [[nodiscard]] ConnectOptions options();

 private:
  static void* get_proc(void* self, const char* name);
  TestDevice target_;
  platform::DynamicLibrary library_;
  std::map<std::string, void*> patches_;
};

/// out[i] = a * x[i] + y[i] for i < n.
[[nodiscard]] Kernel axpy_kernel();
/// y[i] = x[i] + 1, one binding each, no uniforms.
[[nodiscard]] Kernel add_one_kernel();
[[nodiscard]] Kernel kernel_of(const std::string& name, std::vector<BindingSignature> bindings,
                               const std::string& wgsl, bool loops_end = false);

/// A program that is written down command by command.
class ProgramBuilder {
 public:
  std::uint32_t page(Bytes bytes);
  std::uint32_t kernel(const Kernel& kernel);
  struct Bound {
    std::uint32_t page;
    Bytes offset;
    Bytes bytes;
    Access access = Access::read;
  };
  void dispatch(std::uint32_t kernel, Grid grid, const std::vector<Bound>& bindings,
                const std::string& label, std::span<const std::byte> uniforms = {});
  void indirect(std::uint32_t kernel, const std::vector<Bound>& bindings, const std::string& label);
  void copy(Bound from, Bound to, const std::string& label = "copy");
  void fill(Bound target, const std::string& label = "fill");
  /// Returns: the slot.
  std::uint32_t upload(Bound target, const std::string& label = "upload");
  std::uint32_t readback(Bound source, const std::string& label = "readback");
  void begin_pass();

  [[nodiscard]] std::shared_ptr<const plan::Program> program() const {
    return std::make_shared<const plan::Program>(program_);
  }
  [[nodiscard]] const std::vector<Grid>& grids() const { return grids_; }
  [[nodiscard]] const std::vector<std::byte>& uniforms() const { return uniforms_; }

 private:
  plan::Command& add(plan::CommandKind kind, const std::vector<Bound>& bindings,
                     const std::string& label);
  plan::Program program_;
  std::vector<Grid> grids_;
  std::vector<std::byte> uniforms_;
};

/// A page, or a failed test.
[[nodiscard]] memory::PageHandle make_page(Backend& backend, Bytes bytes,
                                           memory::PageUse use = memory::PageUse::storage);
[[nodiscard]] std::vector<memory::PageHandle> make_pages(Backend& backend,
                                                         const plan::Program& program);

/// Encodes and submits.
Ticket submit(Backend& backend, Prepared& prepared, const Submission& submission);

/// An upload page with these values, given to the device.
[[nodiscard]] memory::PageHandle staged(Backend& backend, std::span<const float> values);
/// Waits for a readback page and takes its values.
[[nodiscard]] std::vector<float> read_back(Backend& backend, memory::PageHandle page);

/// The message of the berth::Error of that code that `call` throws; "" and a failure if none.
std::string error_of(ErrorCode code, const std::function<void()>& call);

}  // namespace berth::runtime::wgpu_test
