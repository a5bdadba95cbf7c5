// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_tracker.hpp"

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::wgpu {

namespace {

bool writes(Usage usage) { return usage == Usage::storage_write || usage == Usage::copy_target; }

Range rounded(Range range, Bytes alignment) {
  const Bytes begin = align_down(range.offset, alignment);
  return {begin, align_up(range.end(), alignment) - begin};
}

}  // namespace

const char* name_of(Usage usage) {
  switch (usage) {
    case Usage::storage_read:
      return "read-only storage";
    case Usage::storage_write:
      return "read-write storage";
    case Usage::uniform:
      return "uniform";
    case Usage::indirect:
      return "workgroup counts";
    case Usage::copy_source:
      return "copy source";
    case Usage::copy_target:
      return "copy target";
  }
  return "?";
}

void UsageTracker::begin(std::string_view task) {
  task_ = task;
  uses_.clear();
}

void UsageTracker::use(memory::PageHandle page, Range range, Usage usage) {
  const Use now{page, range, usage};
  for (const Use& before : uses_) {
    if (allowed(before, now)) continue;
    throw Error(
        ErrorCode::internal,
        text("The task \"", task_, "\" uses page ", page.value, " as ", name_of(before.usage),
             " in ", to_text(before.range), " and as ", name_of(usage), " in ", to_text(range),
             ", which WebGPU forbids: the plan or its pages are wrong. Nothing was "
             "submitted."));
  }
  uses_.push_back(now);
}

bool UsageTracker::allowed(const Use& a, const Use& b) const {
  if (a.page != b.page || (!writes(a.usage) && !writes(b.usage))) return true;
  if (a.usage != Usage::storage_write || b.usage != Usage::storage_write) return false;
  return !rounded(a.range, alignment_).overlaps(rounded(b.range, alignment_));
}

}  // namespace berth::runtime::wgpu
