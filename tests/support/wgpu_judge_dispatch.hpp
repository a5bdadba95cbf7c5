// SPDX-License-Identifier: Apache-2.0
//
// The rules of one dispatch, on its own: which buffers it uses, where and how. Pure functions over
// plain data; the judge collects the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/wgpu_judge.hpp"
#include "support/wgpu_recording.hpp"

namespace berth::test::judging {

enum class UseKind : std::uint8_t { writable, read_only, uniform, indirect };

/// One use of a buffer by a dispatch, dynamic offset applied.
struct Use {
  UseKind kind = UseKind::read_only;
  ObjectId buffer = 0;
  std::string buffer_name;  ///< for sentences
  std::uint32_t group = 0;
  std::uint32_t binding = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// "group 0 binding 2 (writable, [256, 512))"
[[nodiscard]] std::string described(const Use& use);

/// No buffer is writable and used otherwise; writable ranges rounded to `alignment` are disjoint.
void check_sharing(const std::vector<Use>& uses, std::uint64_t alignment, const std::string& where,
                   std::vector<Violation>& out);

}  // namespace berth::test::judging
