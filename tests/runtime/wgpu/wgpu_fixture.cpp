// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "berth/error.hpp"
#include "berth_build_paths.hpp"
#include "runtime/wgpu/wgpu_runtime.hpp"

namespace berth::runtime::wgpu_test {

namespace {
constexpr Bytes kUniformAlignment = 256;  // enough for every device

// The drivers leak a little, and LeakSanitizer knows whose it was only while they are loaded.
void keep_loaded(const std::string& driver) {
  try {
    const platform::DynamicLibrary kept(driver);
  } catch (const Error& error) {
    std::printf("note: %s\n", error.what());
  }
}
}  // namespace

const TestDevice& native_lavapipe() {
  static constexpr TestDevice kTarget{"NativeLavapipe", build_paths::kWgpuNative, "", false, true};
  return kTarget;
}
const TestDevice& dawn_swiftshader() {
  static constexpr TestDevice kTarget{"DawnSwiftShader", build_paths::kDawn, "", true, true};
  return kTarget;
}
const TestDevice& dawn_null() {
  static constexpr TestDevice kTarget{"DawnNull", build_paths::kDawn, "null", true, false};
  return kTarget;
}
std::vector<TestDevice> all_targets() {
  return {native_lavapipe(), dawn_swiftshader(), dawn_null()};
}
std::string name_of_target(const TestDevice& target) { return target.name; }

ConnectOptions options_for(const TestDevice& target) {
  [[maybe_unused]] static const bool kKept = [] {
    keep_loaded("libvulkan.so.1");
    keep_loaded("libvulkan_lvp.so");
    keep_loaded(
        (std::filesystem::path(build_paths::kSwiftShaderIcd).parent_path() / "libvk_swiftshader.so")
            .string());
    return true;
  }();
  if (target.swiftshader) {
    setenv("VK_ICD_FILENAMES", std::string(build_paths::kSwiftShaderIcd).c_str(),
           1);  // NOLINT: one thread
  } else {
    unsetenv("VK_ICD_FILENAMES");  // NOLINT
  }
  ConnectOptions options;
  options.runtime = "wgpu";
  options.webgpu.library = std::string(target.library);
  options.webgpu.backend = target.backend;
  return options;
}

std::unique_ptr<Backend> connect(const TestDevice& target) {
  return make_wgpu(options_for(target));
}

PatchedTable::PatchedTable(const TestDevice& target)
    : target_(target), library_(std::string(target.library)) {}

void* PatchedTable::get_proc(void* self, const char* name) {
  auto& table = *static_cast<PatchedTable*>(self);
  const auto patch = table.patches_.find(name);
  return patch != table.patches_.end() ? patch->second : table.library_.symbol(name);
}

ConnectOptions PatchedTable::options() {
  ConnectOptions options = options_for(target_);
  options.webgpu.library.clear();
  options.webgpu.get_proc = &get_proc;
  options.webgpu.get_proc_user = this;
  return options;
}

Kernel kernel_of(const std::string& name, std::vector<BindingSignature> bindings,
                 const std::string& wgsl, bool loops_end) {
  KernelSignature signature;
  signature.name = name;
  signature.bindings = std::move(bindings);
  signature.workgroup = {64, 1, 1};
  KernelCode code;
  code.source = wgsl;
  code.loops_end = loops_end;
  return Kernel(std::move(signature), {std::move(code)});
}

Kernel axpy_kernel() {
  KernelSignature signature;
  signature.name = "axpy";
  signature.bindings = {{"x", Element::f32, Access::read},
                        {"y", Element::f32, Access::read},
                        {"out", Element::f32, Access::write}};
  signature.uniforms = {{"a", Element::f32, 1, Builtin::none, ""},
                        {"n", Element::u32, 1, Builtin::none, ""}};
  signature.workgroup = {64, 1, 1};
  KernelCode code;
  code.source = R"(
struct Uniforms { a: f32, n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> u: Uniforms;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < u.n) { out[id.x] = u.a * x[id.x] + y[id.x]; }
}
)";
  return Kernel(std::move(signature), {std::move(code)});
}

Kernel add_one_kernel() {
  return kernel_of("add_one",
                   {{"x", Element::f32, Access::read}, {"y", Element::f32, Access::write}}, R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x] + 1.0; }
)");
}

std::uint32_t ProgramBuilder::page(Bytes bytes) {
  program_.pages.push_back({bytes, {}});
  return static_cast<std::uint32_t>(program_.pages.size() - 1);
}

std::uint32_t ProgramBuilder::kernel(const Kernel& kernel) {
  program_.kernels.push_back({kernel, Variant::plain, 0});
  return static_cast<std::uint32_t>(program_.kernels.size() - 1);
}

plan::Command& ProgramBuilder::add(plan::CommandKind kind, const std::vector<Bound>& bindings,
                                   const std::string& label) {
  plan::Command command;
  command.kind = kind;
  command.first_binding = static_cast<std::uint32_t>(program_.bindings.size());
  command.binding_count = static_cast<std::uint32_t>(bindings.size());
  command.label = static_cast<std::uint32_t>(program_.labels.size());
  for (const Bound& b : bindings) {
    program_.bindings.push_back({plan::PageId(b.page), b.offset, b.bytes, b.access, 0});
  }
  program_.labels.push_back(label);
  program_.commands.push_back(command);
  program_.level_ends.push_back(static_cast<std::uint32_t>(program_.commands.size()));
  return program_.commands.back();
}

void ProgramBuilder::dispatch(std::uint32_t kernel, Grid grid, const std::vector<Bound>& bindings,
                              const std::string& label, std::span<const std::byte> uniforms) {
  plan::Command& command = add(plan::CommandKind::dispatch, bindings, label);
  command.kernel = kernel;
  command.grid = static_cast<std::uint32_t>(grids_.size());
  grids_.push_back(grid);
  program_.grids = static_cast<std::uint32_t>(grids_.size());
  if (uniforms.empty()) return;
  command.uniform_offset = align_up(uniforms_.size(), kUniformAlignment);
  command.uniform_bytes = align_up(uniforms.size(), 16);
  uniforms_.resize(command.uniform_offset + command.uniform_bytes);
  std::memcpy(uniforms_.data() + command.uniform_offset, uniforms.data(), uniforms.size());
  program_.uniform_bytes = uniforms_.size();
}

void ProgramBuilder::indirect(std::uint32_t kernel, const std::vector<Bound>& bindings,
                              const std::string& label) {
  add(plan::CommandKind::indirect, bindings, label).kernel = kernel;
}
void ProgramBuilder::copy(Bound from, Bound to, const std::string& label) {
  add(plan::CommandKind::copy, {from, to}, label);
}
void ProgramBuilder::fill(Bound target, const std::string& label) {
  add(plan::CommandKind::fill, {target}, label);
}
std::uint32_t ProgramBuilder::upload(Bound target, const std::string& label) {
  return add(plan::CommandKind::upload, {target}, label).slot = program_.uploads++;
}
std::uint32_t ProgramBuilder::readback(Bound source, const std::string& label) {
  return add(plan::CommandKind::readback, {source}, label).slot = program_.readbacks++;
}
void ProgramBuilder::begin_pass() {
  program_.pass_starts.push_back(static_cast<std::uint32_t>(program_.commands.size()));
}

memory::PageHandle make_page(Backend& backend, Bytes bytes, memory::PageUse use) {
  const memory::PageSource::Made made = backend.make_page({bytes, use, "test"});
  EXPECT_FALSE(made.failure.has_value()) << made.failure->message;
  return made.page;
}

std::vector<memory::PageHandle> make_pages(Backend& backend, const plan::Program& program) {
  std::vector<memory::PageHandle> pages;
  pages.reserve(program.pages.size());
  for (const plan::ProgramPage& page : program.pages) {
    pages.push_back(make_page(backend, page.bytes));
  }
  return pages;
}

Ticket submit(Backend& backend, Prepared& prepared, const Submission& submission) {
  return backend.submit(backend.encode(prepared, submission));
}

memory::PageHandle staged(Backend& backend, std::span<const float> values) {
  const memory::PageHandle page = make_page(backend, values.size_bytes(), memory::PageUse::upload);
  std::memcpy(backend.host_data(page), values.data(), values.size_bytes());
  backend.unmap(page);
  return page;
}

std::vector<float> read_back(Backend& backend, memory::PageHandle page) {
  backend.map(page);
  backend.wait_mapped(page);
  std::vector<float> values(64);
  std::memcpy(values.data(), backend.host_data(page), values.size() * sizeof(float));
  backend.unmap(page);
  return values;
}

std::string error_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_STREQ(name_of(error.code()), name_of(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace berth::runtime::wgpu_test
