// SPDX-License-Identifier: Apache-2.0
//
// The only road to device memory. A runtime supplies a PageSource; Storage on top of it makes pages
// all or nothing, counts every byte, holds the budget and can be made to fail for tests. One thread
// at a time (the owner's lock).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/units.hpp"

namespace berth::memory {

/// A device buffer, as the runtime that made it knows it. Never reused while the page lives.
struct PageHandle {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t value = kNone;
  [[nodiscard]] bool valid() const { return value != kNone; }
  friend bool operator==(PageHandle, PageHandle) = default;
};

/// What a page is made for; flags.
enum class PageUse : std::uint32_t {
  storage = 1,    ///< bound by kernels, copied from and to, filled
  upload = 2,     ///< host writes, then copied from
  readback = 4,   ///< copied to, then host reads
  uniform = 8,    ///< holds uniform blocks
  indirect = 16,  ///< holds workgroup counts (with storage)
  vertex = 32,
  index = 64,
};
[[nodiscard]] constexpr PageUse operator|(PageUse a, PageUse b) {
  return static_cast<PageUse>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr bool has(PageUse set, PageUse flag) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

struct PageRequest {
  Bytes bytes = 0;
  PageUse use = PageUse::storage;
  const char* label = "";
};

/// Why a page cannot be made.
struct StorageFailure {
  enum class Kind : std::uint8_t {
    never_fits,   ///< larger than the device makes pages
    not_now,      ///< the device is out of memory
    over_budget,  ///< the client's own budget
    device,       ///< another error of the device; it is in the message
  };
  Kind kind = Kind::not_now;
  Bytes need = 0;
  Bytes limit = 0;
  std::string message;  ///< a full sentence
};

/// What a runtime supplies. Preconditions: sizes are multiples of 4, not zero.
class PageSource {
 public:
  PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;
  virtual ~PageSource() = default;

  struct Made {
    PageHandle page;
    std::optional<StorageFailure> failure;  ///< set if page is not valid
  };
  /// A zero-filled page. Staging pages (upload) come mapped.
  [[nodiscard]] virtual Made make_page(const PageRequest& request) = 0;
  /// Gives a page back. Precondition: no submitted work uses it any more.
  virtual void free_page(PageHandle page) noexcept = 0;
  [[nodiscard]] virtual Bytes max_page_bytes() const = 0;
};

/// Counts, budget, all or nothing.
class Storage {
 public:
  Storage(PageSource& source, Bytes budget);

  /// Makes all pages or none.
  /// Returns: one handle per request, in order; or the failure, and nothing was made.
  struct Result {
    std::vector<PageHandle> pages;
    std::optional<StorageFailure> failure;
  };
  [[nodiscard]] Result make_pages(std::span<const PageRequest> requests);
  void free_page(PageHandle page, Bytes bytes) noexcept;

  [[nodiscard]] Bytes reserved() const { return reserved_; }
  [[nodiscard]] Bytes budget() const { return budget_; }
  /// Pages made and handed out so far; those of a failed call do not count.
  [[nodiscard]] std::uint64_t pages_made() const { return pages_made_; }
  [[nodiscard]] Bytes max_page_bytes() const { return source_.max_page_bytes(); }

  /// For tests: called before the device is asked; a returned failure is what happened.
  using Fault = std::function<std::optional<StorageFailure>(const PageRequest&)>;
  void set_fault(Fault fault) { fault_ = std::move(fault); }

 private:
  PageSource& source_;
  Bytes budget_;
  Bytes reserved_ = 0;
  std::uint64_t pages_made_ = 0;
  Fault fault_;
};

}  // namespace berth::memory
