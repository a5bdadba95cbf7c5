// SPDX-License-Identifier: Apache-2.0
//
// The last check of WebGPU's rule at our own border: the uses of one command, by whole page. It
// sees real pages, so it also finds what a plan cannot know: two symbolic pages that were given one
// real page. A finding is a defect in berth and is thrown before WebGPU sees the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/units.hpp"
#include "memory/storage.hpp"

namespace berth::runtime::wgpu {

/// How a command uses a page.
enum class Usage : std::uint8_t {
  storage_read,
  storage_write,  ///< read_write in WebGPU's words
  uniform,
  indirect,
  copy_source,
  copy_target,
};
[[nodiscard]] const char* name_of(Usage usage);

class UsageTracker {
 public:
  /// `alignment`: to which multiples the device rounds offsets of bindings.
  explicit UsageTracker(Bytes alignment) : alignment_(alignment) {}

  /// Starts the next command; `task` names it in errors and must live until its end.
  void begin(std::string_view task);
  /// Errors: Error(internal) if this use and an earlier one of the command break the rule: a page
  ///   that is written has another use, two written ranges meet after rounding, or a copy's two
  ///   sides lie on one page.
  void use(memory::PageHandle page, Range range, Usage usage);

 private:
  struct Use {
    memory::PageHandle page;
    Range range;
    Usage usage;
  };
  [[nodiscard]] bool allowed(const Use& a, const Use& b) const;

  Bytes alignment_;
  std::string_view task_;
  std::vector<Use> uses_;
};

}  // namespace berth::runtime::wgpu
