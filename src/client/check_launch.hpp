// SPDX-License-Identifier: Apache-2.0
//
// Everything that can be checked when a task is recorded: counts, sizes, limits, contents,
// forbidden overlaps, uniform types. A refused call changed nothing. Pure apart from throwing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/handle.hpp"
#include "berth/kernel.hpp"
#include "berth/uniforms.hpp"
#include "client/window.hpp"
#include "runtime/backend.hpp"

namespace berth::client {

/// Where a binding was given, for messages; made into text only when one is needed.
struct Where {
  std::string_view verb;  ///< "upload", …; used without a kernel
  const KernelSignature* kernel = nullptr;
  const BindingSignature* binding = nullptr;
  [[nodiscard]] std::string sentence() const;  ///< "launch of kernel 'axpy', binding 'x'"
};

/// Resolves a binding: its tensor and closed range.
/// Errors: Error(invalid_argument) for null handles, handles of another client, ranges outside the
///   tensor or no multiples of 4.
[[nodiscard]] Window::NewUse resolve(const Binding& binding, Access access, std::uint64_t client_id,
                                     const Where& where);

/// Errors: Error(no_contents), Error(failed) if `use` reads what is not there.
void check_contents(const Window::NewUse& use, const Where& where);

/// Checks a launch and resolves its bindings into `uses` (in the signature's order, and the
/// workgroup counts of an indirect one, unless nullptr, after them). Returns: false if the launch
/// has nothing to do and is to be skipped. Errors: as Stream::launch says.
[[nodiscard]] bool resolve_launch(const Kernel& kernel, Grid grid,
                                  std::span<const Binding> bindings, const Binding* counts,
                                  const Uniforms& uniforms, std::uint64_t client_id,
                                  const runtime::Capabilities& device,
                                  std::vector<Window::NewUse>& uses);

}  // namespace berth::client
