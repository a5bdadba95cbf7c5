// SPDX-License-Identifier: Apache-2.0
//
// A planned window as immutable plain data: commands in submission order over symbolic pages. A
// runtime prepares it once for real pages and submits it often with other uniforms and uploads.
// Nothing here points into a window, a tensor or a device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/access.hpp"
#include "berth/kernel.hpp"
#include "berth/plan/problem.hpp"
#include "berth/units.hpp"

namespace berth::plan {

/// A range of a symbolic page, used by a command.
struct ProgramBinding {
  PageId page;       ///< index into Program::pages
  Bytes offset = 0;  ///< aligned as the device demands (bindings of kernels), else to 4
  Bytes bytes = 0;
  Access access = Access::read;
  /// For kernels that take a base offset: where in what is bound the tensor's range begins.
  Bytes base = 0;
};

/// A kernel in one of its forms. A command names it by its index in Program::kernels.
struct ProgramKernel {
  Kernel kernel;
  Variant variant = Variant::plain;
  std::uint32_t in_place_pairs = 0;
};

enum class CommandKind : std::uint8_t {
  dispatch,  ///< bindings in the signature's order, less those an in-place variant leaves out
  indirect,  ///< a dispatch whose last binding holds the three workgroup counts
  copy,      ///< bindings: source, target; equal bytes
  fill,      ///< binding: target; zeros
  upload,    ///< binding: target; source is Submission::uploads[slot]
  readback,  ///< binding: source; target is Submission::readbacks[slot]
  foreign,   ///< the caller's own commands: Submission::foreign[slot]
};

/// One task of a batch: what the dispatch must know to act for it.
///
/// The bindings of a batch are page-wide: binding i is the hull of its tasks' ranges on one page,
/// and writable hulls do not meet after rounding. The table of entries is read by the kernel's
/// batched variant at @group(1) @binding(0), from the uniform room.
struct BatchEntry {
  std::uint32_t grid = 0;         ///< Submission::grids
  Bytes uniform_offset = 0;       ///< in the uniform bytes
  std::uint32_t first_range = 0;  ///< Program::batch_ranges[first_range + i]: inside binding i
  std::uint32_t label = 0;        ///< Program::labels
};

struct Command {
  CommandKind kind = CommandKind::dispatch;
  std::uint32_t kernel = 0;         ///< index into Program::kernels
  std::uint32_t grid = 0;           ///< of a dispatch: Submission::grids, so that it may change
  std::uint32_t first_binding = 0;  ///< into Program::bindings
  std::uint32_t binding_count = 0;
  Bytes uniform_offset = 0;       ///< into the window's uniform bytes, aligned as demanded
  Bytes uniform_bytes = 0;        ///< 0 = the kernel has no uniforms
  std::uint32_t slot = 0;         ///< uploads, readbacks, foreign
  std::uint32_t first_batch = 0;  ///< into Program::batch; batch_count 0 = one plain task
  std::uint32_t batch_count = 0;
  std::uint32_t label = 0;  ///< into Program::labels: names the task in errors
};

/// A symbolic page. prepare() is given a real page of at least this size for each.
struct ProgramPage {
  Bytes bytes = 0;
  PoolId pool{0};
};

/// Immutable once built.
struct Program {
  std::vector<ProgramPage> pages;
  std::vector<ProgramKernel> kernels;
  std::vector<Command> commands;
  std::vector<ProgramBinding> bindings;
  std::vector<BatchEntry> batch;
  std::vector<Range> batch_ranges;
  /// Level i is commands [level_ends[i-1], level_ends[i]); no hazards inside one.
  std::vector<std::uint32_t> level_ends;
  /// Where an encoder may begin a new pass, chosen by the cost model; indices of commands, sorted.
  std::vector<std::uint32_t> pass_starts;
  Bytes uniform_bytes = 0;
  std::uint32_t grids = 0;
  std::uint32_t uploads = 0;
  std::uint32_t readbacks = 0;
  std::uint32_t foreign = 0;
  std::vector<std::string> labels;
};

}  // namespace berth::plan
