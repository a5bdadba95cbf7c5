// SPDX-License-Identifier: Apache-2.0
//
// What a client tells about its memory and its windows. Plain data; tools render it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/error.hpp"
#include "berth/units.hpp"

namespace berth {

/// One pool of pages. live + idle + padding == reserved, exactly.
struct PoolReport {
  std::string name{};  ///< "persistent", "transient", "exclusive", "staging", "uniform", …
  Bytes reserved = 0;  ///< bytes of its device buffers
  Bytes live = 0;      ///< bytes that tensors (or staged data) asked for
  Bytes idle = 0;      ///< free for use
  Bytes padding = 0;   ///< lost to alignment
  std::uint32_t pages = 0;
};

/// The last window, as planned.
struct WindowReport {
  std::uint32_t tasks = 0;
  std::uint32_t tensors = 0;  ///< versions placed
  /// Most bytes of its own tensors (not those of earlier windows) live at once: no plan needs less.
  Bytes lower_bound = 0;
  Bytes planned_peak = 0;  ///< sum of page extents, less the tensors of earlier windows
  Bytes pages_made = 0;    ///< bytes of pages made for it
  std::uint32_t pages = 0;
  std::uint32_t levels = 0;
  std::uint32_t barriers = 0;
  std::uint32_t hazards = 0;
  std::uint32_t repairs = 0;
  std::uint32_t in_place = 0;
  std::uint32_t bind_groups = 0;  ///< made for it
};

struct Report {
  std::string runtime{};
  std::string adapter{};
  Bytes reserved = 0;  ///< all device buffers: the sum over the pools
  Bytes live = 0;
  Bytes idle = 0;
  Bytes padding = 0;
  Bytes persistent = 0;  ///< live bytes of tensors that outlived their window
  Bytes staging = 0;     ///< reserved by upload and readback pages
  Bytes uniform = 0;     ///< reserved by uniform pages
  Bytes budget = kWholeSize;
  std::vector<PoolReport> pools{};

  std::uint64_t windows = 0;     ///< submitted so far
  std::uint64_t tasks = 0;       ///< submitted so far
  std::uint64_t pages_made = 0;  ///< so far, all kinds
  std::uint64_t relocations = 0;
  std::uint64_t bounces = 0;
  std::uint64_t promotions = 0;
  std::uint64_t renames = 0;
  /// Policy read_write: dispatches that could not be bound all read_write.
  std::uint64_t unpromoted = 0;

  WindowReport last_window;
  /// Held when the last window closed, and not used by a task since: locals still in scope?
  Bytes held_unused_bytes = 0;
  std::vector<TensorBytes> held_unused{};
};

/// The report as a few lines of text.
[[nodiscard]] std::string to_text(const Report& report);

}  // namespace berth
