// SPDX-License-Identifier: Apache-2.0
//
// Drives a backend by hand: pages, a program written command by command, and bytes in and out
// through staging pages. One backend per rig.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"

namespace berth::test {

/// A page of the rig and a range of it.
struct At {
  std::uint32_t page = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
  Access access = Access::read;
  Bytes base = 0;
};

class ReferenceRig {
 public:
  explicit ReferenceRig(std::unique_ptr<runtime::Backend> backend) : backend_(std::move(backend)) {}

  [[nodiscard]] runtime::Backend& backend() { return *backend_; }
  [[nodiscard]] memory::PageHandle make(Bytes bytes, memory::PageUse use) {
    const auto made = backend_->make_page({bytes, use, "test"});
    EXPECT_TRUE(made.page.valid());
    return made.page;
  }
  [[nodiscard]] std::uint32_t page(Bytes bytes) {
    pages_.push_back(make(bytes, memory::PageUse::storage));
    program_.pages.push_back({bytes, plan::PoolId{0}});
    return static_cast<std::uint32_t>(pages_.size() - 1);
  }
  [[nodiscard]] memory::PageHandle handle(std::uint32_t page) const { return pages_[page]; }

  /// The program so far; tests break it on purpose.
  [[nodiscard]] plan::Program& program() { return program_; }

  plan::Command& add(plan::CommandKind kind, const std::vector<At>& bindings,
                     const std::string& label) {
    plan::Command command;
    command.kind = kind;
    command.first_binding = static_cast<std::uint32_t>(program_.bindings.size());
    command.binding_count = static_cast<std::uint32_t>(bindings.size());
    for (const At& at : bindings) {
      program_.bindings.push_back({plan::PageId{at.page}, at.offset, at.bytes, at.access, at.base});
    }
    command.label = static_cast<std::uint32_t>(program_.labels.size());
    program_.labels.push_back(label);
    program_.commands.push_back(command);
    return program_.commands.back();
  }

  plan::Command& dispatch(const Kernel& kernel, Grid grid, const std::vector<At>& bindings,
                          const std::vector<std::uint32_t>& uniforms = {},
                          Variant variant = Variant::plain, std::uint32_t pairs = 0) {
    plan::Command& command = add(plan::CommandKind::dispatch, bindings, "run " + kernel.name());
    program_.kernels.push_back({kernel, variant, pairs});
    command.kernel = static_cast<std::uint32_t>(program_.kernels.size() - 1);
    command.grid = add_grid(grid);
    if (!uniforms.empty()) {
      command.uniform_offset = add_uniforms(uniforms);
      command.uniform_bytes = uniforms.size() * 4;
    }
    return command;
  }
  std::uint32_t add_grid(Grid grid) {
    grids_.push_back(grid);
    program_.grids = static_cast<std::uint32_t>(grids_.size());
    return program_.grids - 1;
  }
  Bytes add_uniforms(const std::vector<std::uint32_t>& words) {
    const Bytes at = align_up(uniforms_.size(), backend_->capabilities().limits.uniform_alignment);
    uniforms_.resize(at + words.size() * 4);
    std::memcpy(uniforms_.data() + at, words.data(), words.size() * 4);
    program_.uniform_bytes = uniforms_.size();
    return at;
  }
  void foreign(const std::vector<At>& bindings, runtime::ForeignFunction function) {
    add(plan::CommandKind::foreign, bindings, "foreign").slot = program_.foreign++;
    foreign_.push_back(std::move(function));
  }

  template <class T>
  void upload(std::uint32_t page, Bytes offset, const std::vector<T>& data) {
    const Bytes bytes = data.size() * sizeof(T);
    const memory::PageHandle staging = make(bytes, memory::PageUse::upload);
    std::memcpy(backend_->host_data(staging), data.data(), bytes);
    backend_->unmap(staging);
    add(plan::CommandKind::upload, {{page, offset, bytes, Access::write}}, "upload").slot =
        program_.uploads++;
    uploads_.push_back({staging, 0});
  }
  /// Returns: what result() is to be asked for.
  std::size_t readback(std::uint32_t page, Bytes offset, Bytes bytes) {
    add(plan::CommandKind::readback, {{page, offset, bytes, Access::read}}, "readback").slot =
        program_.readbacks++;
    readbacks_.push_back({make(bytes, memory::PageUse::readback), 0});
    return results_.size() + readbacks_.size() - 1;
  }

  /// Submits the program so far and begins an empty one on the same pages.
  runtime::Ticket submit() {
    const auto pages = program_.pages;
    auto prepared = backend_->prepare(std::make_shared<plan::Program>(program_), pages_);
    runtime::Submission submission;
    submission.uniforms = uniforms_;
    if (!uniforms_.empty()) {
      submission.uniform_room = {make(uniforms_.size(), memory::PageUse::uniform), 0};
    }
    submission.grids = grids_;
    submission.uploads = uploads_;
    submission.readbacks = readbacks_;
    submission.foreign = foreign_;
    const runtime::Ticket ticket = backend_->submit(backend_->encode(*prepared, submission));
    for (const runtime::HostSlice& slice : readbacks_) {
      backend_->map(slice.page);
      results_.push_back(slice.page);
    }
    reset();
    program_.pages = pages;
    return ticket;
  }
  /// Drops the program so far.
  void reset() {
    const auto pages = std::move(program_.pages);
    program_ = {};
    program_.pages = pages;
    uniforms_.clear();
    grids_.clear();
    uploads_.clear();
    readbacks_.clear();
    foreign_.clear();
  }

  [[nodiscard]] memory::PageHandle result_page(std::size_t which) const { return results_[which]; }
  template <class T>
  [[nodiscard]] std::vector<T> result(std::size_t which, std::size_t count) {
    backend_->wait_mapped(results_[which]);
    std::vector<T> out(count);
    std::memcpy(out.data(), backend_->host_data(results_[which]), count * sizeof(T));
    return out;
  }
  /// Reads a range right now.
  template <class T>
  [[nodiscard]] std::vector<T> read(std::uint32_t page, Bytes offset, std::size_t count) {
    const std::size_t which = readback(page, offset, count * sizeof(T));
    submit();
    return result<T>(which, count);
  }

 private:
  std::unique_ptr<runtime::Backend> backend_;
  std::vector<memory::PageHandle> pages_;
  plan::Program program_;
  std::vector<std::byte> uniforms_;
  std::vector<Grid> grids_;
  std::vector<runtime::HostSlice> uploads_;
  std::vector<runtime::HostSlice> readbacks_;
  std::vector<runtime::ForeignFunction> foreign_;
  std::vector<memory::PageHandle> results_;
};

/// The elements behind a view of a foreign function.
[[nodiscard]] inline std::uint32_t* host_words(const runtime::ForeignView& view) {
  return reinterpret_cast<std::uint32_t*>(view.address);  // NOLINT(performance-no-int-to-ptr)
}

/// A CPU kernel. Bindings are u32; uniform fields are u32.
struct CpuKernel {
  const char* name;
  std::vector<std::pair<const char*, Access>> bindings;
  std::vector<const char*> uniforms;
  CpuFunction function;
  std::vector<InPlaceSignature> in_place{};
};
[[nodiscard]] inline Kernel make_kernel(const CpuKernel& k) {
  KernelSignature signature;
  signature.name = k.name;
  for (const auto& [name, access] : k.bindings) {
    signature.bindings.push_back({name, Element::u32, access, 1});
  }
  for (const char* field : k.uniforms) {
    signature.uniforms.push_back({field, Element::u32, 1, Builtin::none, {}});
  }
  signature.in_place = k.in_place;
  KernelCode code;
  code.target = Target::cpu;
  code.function = k.function;
  return Kernel(std::move(signature), {code});
}

}  // namespace berth::test
