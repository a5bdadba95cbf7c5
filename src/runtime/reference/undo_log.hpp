// SPDX-License-Identifier: Apache-2.0
//
// What a submission overwrote so far, so that a refused one changes nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/reference/pages.hpp"

namespace berth::runtime::reference {

class UndoLog {
 public:
  /// Call before these bytes of a storage page are overwritten.
  void save(PageMemory& page, Range range);
  /// Puts everything back, the last first.
  void undo();
  void clear() { saved_.clear(); }

 private:
  struct Saved {
    PageMemory* page = nullptr;
    Bytes offset = 0;
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> written;
  };
  std::vector<Saved> saved_;
};

}  // namespace berth::runtime::reference
