// SPDX-License-Identifier: Apache-2.0
#include "support/wgpu_judge_dispatch.hpp"

#include <algorithm>

namespace berth::test::judging {

namespace {

const char* name_of_kind(UseKind kind) {
  switch (kind) {
    case UseKind::writable:
      return "writable";
    case UseKind::read_only:
      return "read-only";
    case UseKind::uniform:
      return "uniform";
    case UseKind::indirect:
      return "indirect";
  }
  return "?";
}

struct Rounded {
  std::uint64_t begin;
  std::uint64_t end;
};

Rounded rounded(const Use& use, std::uint64_t alignment) {
  const std::uint64_t step = std::max<std::uint64_t>(alignment, 1);
  const std::uint64_t begin = use.offset / step * step;
  const std::uint64_t last = use.offset + use.bytes;
  return {begin, (last + step - 1) / step * step};
}

void check_pair(const Use& a, const Use& b, std::uint64_t alignment, const std::string& where,
                std::vector<Violation>& out) {
  if (a.buffer != b.buffer) return;
  const bool a_writes = a.kind == UseKind::writable;
  const bool b_writes = b.kind == UseKind::writable;
  if (!a_writes && !b_writes) return;
  if (a_writes != b_writes) {
    const Use& writer = a_writes ? a : b;
    const Use& other = a_writes ? b : a;
    out.push_back({Rule::writable_and_other_use,
                   where + " uses " + a.buffer_name + " as " + described(writer) + " and also as " +
                       described(other) +
                       "; a buffer that is writable has no other use in a dispatch."});
    return;
  }
  const Rounded one = rounded(a, alignment);
  const Rounded two = rounded(b, alignment);
  if (one.begin < two.end && two.begin < one.end) {
    out.push_back({Rule::writable_overlap, where + " writes " + a.buffer_name + " through " +
                                               described(a) + " and " + described(b) +
                                               ", which overlap after rounding to " +
                                               std::to_string(alignment) + " bytes."});
  }
}

}  // namespace

std::string described(const Use& use) {
  const std::string range =
      "[" + std::to_string(use.offset) + ", " + std::to_string(use.offset + use.bytes) + ")";
  if (use.kind == UseKind::indirect) return "indirect arguments " + range;
  return "group " + std::to_string(use.group) + " binding " + std::to_string(use.binding) + " (" +
         name_of_kind(use.kind) + ", " + range + ")";
}

void check_sharing(const std::vector<Use>& uses, std::uint64_t alignment, const std::string& where,
                   std::vector<Violation>& out) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t j = i + 1; j < uses.size(); ++j) {
      check_pair(uses[i], uses[j], alignment, where, out);
    }
  }
}

}  // namespace berth::test::judging
