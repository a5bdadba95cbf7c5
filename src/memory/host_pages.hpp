// SPDX-License-Identifier: Apache-2.0
//
// What the staging and uniform pools must be able to ask of a runtime, without knowing one. The
// client adapts its backend to this. Called with the owner's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/storage.hpp"

namespace berth::memory {

class HostPages {
 public:
  HostPages() = default;
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  virtual ~HostPages() = default;

  /// Asks for the host's access; the submissions that use the page come first. Never waits.
  virtual void map(PageHandle page) = 0;
  /// True once the host has access. Lets events be noticed, never waits.
  [[nodiscard]] virtual bool mapped(PageHandle page) = 0;
  /// Waits for what map() asked for.
  virtual void wait_mapped(PageHandle page) = 0;
  /// The page's bytes; valid while mapped.
  [[nodiscard]] virtual std::byte* data(PageHandle page) = 0;
  /// Gives the page back to the device: only then may it enter a submission.
  virtual void unmap(PageHandle page) = 0;
  /// Every submission up to the answered one is done. Never waits.
  [[nodiscard]] virtual std::uint64_t completed() = 0;
};

}  // namespace berth::memory
