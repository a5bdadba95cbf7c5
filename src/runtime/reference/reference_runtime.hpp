// SPDX-License-Identifier: Apache-2.0
//
// Runtimes on the CPU: kernels as C++ functions on real pages.
//
// `reference` is fast: no exclusion list, submissions run in order on a thread of its own,
// workgroups on several; without threads (Threads::none) a submission runs inside submit(). Foreign
// functions run in program order with the tasks around them, so on that thread; they get host
// addresses.
//
// `reference-strict` is the judge of every test. It refuses a program that breaks the rule of
// WebGPU, its alignments or limits (Error(internal): a defect in berth), and it runs each dispatch
// twice on copies with guard bytes around each binding and two different poisons for all bytes that
// nobody wrote; what differs is Error(kernel) from submit(). A refused submission changes no page.
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace berth::runtime {

/// Errors: Error(invalid_argument) for an offset alignment that is no power of two.
[[nodiscard]] std::unique_ptr<Backend> make_reference(const ConnectOptions& options);
[[nodiscard]] std::unique_ptr<Backend> make_reference_strict(const ConnectOptions& options);

}  // namespace berth::runtime
