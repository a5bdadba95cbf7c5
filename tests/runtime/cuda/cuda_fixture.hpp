// SPDX-License-Identifier: Apache-2.0
//
// What the cuda runtime's tests stand on: the fake libcuda, reset for each test, kernels whose CPU
// functions it runs in the place of their CUDA code, and programs written down by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/error.hpp"
#include "berth/kernel.hpp"
#include "berth/options.hpp"
#include "plan/program.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_tuning.hpp"
#include "support/fake_cuda_device.hpp"
#include "support/integer_kernels.hpp"

namespace berth::runtime::cuda_test {

using Words = std::vector<std::uint32_t>;

using test::fake;
using test::fake_options;
using test::teach;

/// Resets the fake, teaches it the integer kernels, and checks at the end that all was given back.
class FakeCuda : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  [[nodiscard]] static std::unique_ptr<Backend> connect(std::uint32_t graph_from = 2);
};

/// A program that is written down command by command.
class ProgramBuilder {
 public:
  struct Bound {
    std::uint32_t page = 0;
    Bytes offset = 0;
    Bytes bytes = 0;
    Access access = Access::read;
  };
  std::uint32_t page(Bytes bytes);
  /// `values`: of the uniform block, as the target packs them. A kernel is added at its first use.
  void dispatch(const Kernel& kernel, Grid grid, const std::vector<Bound>& bindings,
                std::span<const std::byte> values, const std::string& label = "");
  template <class T>
  void dispatch(const Kernel& kernel, Grid grid, const std::vector<Bound>& bindings,
                const T& values, const std::string& label = "") {
    dispatch(kernel, grid, bindings, std::as_bytes(std::span(&values, 1)), label);
  }
  /// The last of the bindings holds the counts.
  template <class T>
  void indirect(const Kernel& kernel, const std::vector<Bound>& bindings, const T& values) {
    dispatch(kernel, {}, bindings, values, "indirect");
    program_.commands.back().kind = plan::CommandKind::indirect;
  }
  void copy(Bound from, Bound to) { add(plan::CommandKind::copy, {from, to}, "copy"); }
  void fill(Bound target) { add(plan::CommandKind::fill, {target}, "fill"); }
  void upload(Bound target);
  void readback(Bound source);
  void foreign(const std::vector<Bound>& bindings);

  [[nodiscard]] std::shared_ptr<const plan::Program> program() const {
    return std::make_shared<const plan::Program>(program_);
  }
  std::vector<Grid> grids;          ///< of the dispatches, in order; may be changed
  std::vector<std::byte> uniforms;  ///< likewise

 private:
  plan::Command& add(plan::CommandKind kind, const std::vector<Bound>& bindings,
                     const std::string& label);
  plan::Program program_;
};

/// A program on a backend, with its pages, uniform room and staging.
class Running {
 public:
  Running(Backend& backend, const ProgramBuilder& builder, std::size_t staging_words = 0);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  /// What a submission reads; its spans point into `builder` and here.
  [[nodiscard]] Submission submission();
  Ticket submit();
  /// Gives upload slot `slot` these words: a new page each time.
  void put(std::size_t slot, const Words& words);
  /// Waits for what is in readback slot `slot`.
  [[nodiscard]] Words take(std::size_t slot);
  /// Another uniform room at the next submission.
  void move_uniforms();

  std::vector<memory::PageHandle> pages;
  std::unique_ptr<Prepared> prepared;
  std::vector<ForeignFunction> functions;

 private:
  [[nodiscard]] memory::PageHandle make(Bytes bytes, memory::PageUse use);
  Backend& backend_;
  const ProgramBuilder& builder_;
  std::size_t words_;
  std::vector<HostSlice> uploads_;
  std::vector<HostSlice> readbacks_;
  HostSlice room_;
  std::vector<memory::PageHandle> made_;
};

/// The message of the berth::Error of that code that `call` throws; "" and a failure if none.
std::string error_of(ErrorCode code, const std::function<void()>& call);

}  // namespace berth::runtime::cuda_test
