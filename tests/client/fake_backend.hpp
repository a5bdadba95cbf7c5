// SPDX-License-Identifier: Apache-2.0
//
// A runtime that only says what it can do and makes pages of the fake device: for tests of placing,
// which asks no more of it. Running anything on it throws std::logic_error.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/backend.hpp"
#include "support/fake_device.hpp"

namespace berth::client {

class FakeBackend final : public runtime::Backend {
 public:
  runtime::Capabilities can;
  test::FakeDevice device;

  FakeBackend() {
    can.runtime = "fake";
    can.target = Target::cpu;
    can.limits.offset_alignment = 256;
    can.limits.uniform_alignment = 256;
    can.limits.max_page_bytes = kGiB;
    can.limits.max_binding_bytes = kGiB;
    can.limits.max_storage_bindings = 8;
    can.limits.max_groups_per_dimension = 65535;
  }

  [[nodiscard]] const runtime::Capabilities& capabilities() const override { return can; }
  void compile(const Kernel&, Variant, std::uint32_t) override {}
  [[nodiscard]] bool compiled(const Kernel& kernel, Variant variant,
                              std::uint32_t pairs) const override {
    return kernel.code(can.target, variant, pairs) != nullptr;
  }
  [[nodiscard]] Made make_page(const memory::PageRequest& request) override {
    return device.make_page(request);
  }
  void free_page(memory::PageHandle page) noexcept override { device.free_page(page); }
  [[nodiscard]] Bytes max_page_bytes() const override { return can.limits.max_page_bytes; }

  [[nodiscard]] std::unique_ptr<runtime::Prepared> prepare(
      std::shared_ptr<const plan::Program>, std::span<const memory::PageHandle>) override {
    throw std::logic_error("the fake runtime runs nothing");
  }
  [[nodiscard]] std::unique_ptr<runtime::Encoded> encode(runtime::Prepared&,
                                                         const runtime::Submission&,
                                                         void*) override {
    throw std::logic_error("the fake runtime runs nothing");
  }
  [[nodiscard]] runtime::Ticket submit(std::unique_ptr<runtime::Encoded>) override {
    throw std::logic_error("the fake runtime runs nothing");
  }
  [[nodiscard]] runtime::Ticket poll() override { return {device.done}; }
  void wait(runtime::Ticket ticket) override { device.done = ticket.value; }
  void map(memory::PageHandle page) override { device.map(page); }
  void wait_mapped(memory::PageHandle page) override { device.wait_mapped(page); }
  [[nodiscard]] runtime::HostState host_state(memory::PageHandle) const override {
    return runtime::HostState::unmapped;
  }
  [[nodiscard]] std::byte* host_data(memory::PageHandle page) override { return device.data(page); }
  void unmap(memory::PageHandle page) override { device.unmap(page); }
  [[nodiscard]] std::optional<std::string> lost() const override { return std::nullopt; }
};

}  // namespace berth::client
