// SPDX-License-Identifier: Apache-2.0
//
// Windows as files hold them: tensors and tasks of a program, or bare lifetimes, and the planner's
// problem made of either. Files know tensors, not versions: a tensor is placed once and lives from
// its first to its last use. Pure values; safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/plan/problem.hpp"
#include "berth/units.hpp"

namespace berth::trace {

/// Sizes above this are refused: JSON numbers are not exact beyond it, and sums must not wrap.
inline constexpr Bytes kMostBytes = Bytes{1} << 53;

/// A tensor's id as its file writes it. Numbers and strings stay what they were.
struct TensorName {
  std::string id;
  bool numeric = true;  ///< written without quotes
};

/// A tensor of a window. `name` and `kind` are hints for the reader; nothing depends on them.
struct Tensor {
  TensorName id;
  std::string name;
  std::string kind;
  Bytes bytes = 0;
};

/// A task of a window. A tensor in both lists is updated in place: one read_write access.
struct Task {
  std::string name;
  std::vector<std::uint32_t> reads;   ///< indices into Window::tensors, each once
  std::vector<std::uint32_t> writes;  ///< indices into Window::tensors, each once
};

/// A window in program order.
struct Window {
  std::string name;
  Bytes alignment = 1;  ///< of sizes and offsets, a power of two
  std::vector<Tensor> tensors;
  std::vector<Task> tasks;
};

/// A buffer of MiniMalloc's format.
struct Buffer {
  TensorName id;
  std::int64_t lower = 0;  ///< the first moment of its life
  std::int64_t upper = 0;  ///< the first moment after it
  Bytes bytes = 0;
};

/// Buffers with given lifetimes: memory planning of the ordinary kind, no tasks, no exclusion.
struct Lifetimes {
  std::string name;
  std::vector<Buffer> buffers;
};

/// One version per tensor, one task per task.
/// Units: sizes are rounded up to the window's alignment, as every figure about traces is.
[[nodiscard]] plan::Problem to_problem(const Window& window);

/// One version per buffer, one task per moment at which some buffer is born: what is live only
/// shrinks in between. The device has no exclusion. Only the program order means anything.
[[nodiscard]] plan::Problem to_problem(const Lifetimes& lifetimes);

}  // namespace berth::trace
