// SPDX-License-Identifier: Apache-2.0
//
// All or nothing: limits, budget and the fault hook are asked before the device is, and what was
// made before a failure (or an exception of the source) is given back.
#include "memory/storage.hpp"

#include <ranges>
#include <utility>

#include "berth/error.hpp"

namespace berth::memory {

namespace {

std::string bytes_text(Bytes bytes) { return std::to_string(bytes) + " bytes"; }

std::string page_text(const PageRequest& request) {
  const bool labelled = request.label != nullptr && request.label[0] != '\0';
  return labelled ? std::string("A page for \"") + request.label + "\"" : std::string("A page");
}

/// Gives pages back unless told that all of them are there.
class MadeSoFar {
 public:
  explicit MadeSoFar(PageSource& source) : source_(source) {}
  MadeSoFar(const MadeSoFar&) = delete;
  MadeSoFar& operator=(const MadeSoFar&) = delete;
  ~MadeSoFar() {
    for (const PageHandle page : pages_ | std::views::reverse) source_.free_page(page);
  }
  void reserve(std::size_t count) { pages_.reserve(count); }
  void add(PageHandle page) { pages_.push_back(page); }
  [[nodiscard]] std::vector<PageHandle> keep() { return std::exchange(pages_, {}); }

 private:
  PageSource& source_;
  std::vector<PageHandle> pages_;
};

}  // namespace

Storage::Storage(PageSource& source, Bytes budget) : source_(source), budget_(budget) {}

Storage::Result Storage::make_pages(std::span<const PageRequest> requests) {
  const Bytes limit = source_.max_page_bytes();
  Bytes total = 0;
  for (const PageRequest& request : requests) {
    if (request.bytes == 0 || request.bytes % 4 != 0) {
      throw Error(ErrorCode::internal,
                  page_text(request) + " of " + bytes_text(request.bytes) +
                      " is asked for; sizes of pages are multiples of 4 and not zero.");
    }
    if (request.bytes > limit) {
      return {{},
              StorageFailure{StorageFailure::Kind::never_fits, request.bytes, limit,
                             page_text(request) + " of " + bytes_text(request.bytes) +
                                 " never fits: the device makes pages of at most " +
                                 bytes_text(limit) + "."}};
    }
    if (request.bytes > kWholeSize - total) {
      return {{},
              StorageFailure{StorageFailure::Kind::over_budget, kWholeSize, budget_,
                             "The pages asked for are together more than 64 bits can count."}};
    }
    total += request.bytes;
  }
  if (total > budget_ || reserved_ > budget_ - total) {
    return {{},
            StorageFailure{StorageFailure::Kind::over_budget, total, budget_,
                           "Making " + std::to_string(requests.size()) + " page(s) of together " +
                               bytes_text(total) + " is over the budget of " + bytes_text(budget_) +
                               ": " + bytes_text(reserved_) + " are reserved already."}};
  }

  MadeSoFar made(source_);
  made.reserve(requests.size());
  for (const PageRequest& request : requests) {
    if (fault_) {
      if (std::optional<StorageFailure> failure = fault_(request)) return {{}, std::move(failure)};
    }
    PageSource::Made page = source_.make_page(request);
    if (!page.page.valid()) {
      if (!page.failure) {
        page.failure = StorageFailure{StorageFailure::Kind::device, request.bytes, limit,
                                      page_text(request) + " of " + bytes_text(request.bytes) +
                                          " cannot be made; the runtime gives no reason."};
      }
      return {{}, std::move(page.failure)};
    }
    made.add(page.page);
  }
  reserved_ += total;
  pages_made_ += requests.size();
  return {made.keep(), std::nullopt};
}

void Storage::free_page(PageHandle page, Bytes bytes) noexcept {
  source_.free_page(page);
  reserved_ -= bytes;
}

}  // namespace berth::memory
