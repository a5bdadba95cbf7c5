// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/undo_log.hpp"

#include <algorithm>
#include <ranges>

namespace berth::runtime::reference {

void UndoLog::save(PageMemory& page, Range range) {
  const std::byte* bytes = page.data + range.offset;
  const std::uint8_t* written = page.written.data() + range.offset;
  saved_.push_back(
      {&page, range.offset, {bytes, bytes + range.bytes}, {written, written + range.bytes}});
}

void UndoLog::undo() {
  for (const Saved& saved : saved_ | std::views::reverse) {
    std::ranges::copy(saved.bytes, saved.page->data + saved.offset);
    std::ranges::copy(saved.written, saved.page->written.data() + saved.offset);
  }
  saved_.clear();
}

}  // namespace berth::runtime::reference
