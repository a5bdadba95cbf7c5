// SPDX-License-Identifier: Apache-2.0
//
// Known-bad switches: a runtime around a real one that changes a program on its way, as a defect in
// the library would. The fuzzer must find each of them.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "berth/client.hpp"
#include "berth/options.hpp"
#include "client/core.hpp"
#include "runtime/backend.hpp"

namespace berth::fuzz {

enum class Bug : std::uint8_t {
  none,
  exclusion_ignored,    ///< plans as if a page may be read and written in one task
  lifetime_short,       ///< a version's last use is not counted
  upload_first,         ///< uploads run before the window's kernels
  wrong_slice_offset,   ///< a binding begins one alignment too early
  stale_bind_group,     ///< a page of an earlier program is bound again
  streams_not_ordered,  ///< a tensor's tasks on another stream are not submitted first
};

/// "exclusion-ignored", …; Bug::none is "none". Errors: std::runtime_error for an unknown name.
[[nodiscard]] Bug bug_named(std::string_view name);
[[nodiscard]] std::span<const std::string_view> bug_names();

/// A client with a bug.
[[nodiscard]] Client connect_with(Bug bug, const ConnectOptions& options);

}  // namespace berth::fuzz
