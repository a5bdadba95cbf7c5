// SPDX-License-Identifier: Apache-2.0
//
// A device without a device for tests of the memory room: makes pages of plain bytes, counts them,
// runs out on demand, and holds staging pages to their states. Breaking a rule throws
// std::logic_error, so a test that expects no exception proves the rule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "memory/host_pages.hpp"
#include "memory/storage.hpp"

namespace berth::test {

class FakeDevice : public memory::PageSource, public memory::HostPages {
 public:
  struct Made {
    Bytes bytes = 0;
    memory::PageUse use{};
    enum class State : std::uint8_t { unmapped, mapping, mapped } state = State::unmapped;
    std::uint64_t last_use = 0;
    std::vector<std::byte> data;
  };

  // Set by tests.
  Bytes max_bytes = Bytes{1} << 40;
  Bytes memory = kWholeSize;             ///< more and the device is out of memory
  std::optional<std::uint64_t> fail_at;  ///< the nth page from now on (0 = the next) fails
  bool fail_by_throwing = false;

  // Seen by tests.
  std::map<std::uint64_t, Made> pages;
  Bytes reserved = 0;
  std::uint64_t made_ever = 0;
  std::uint64_t done = 0;

  [[nodiscard]] PageSource::Made make_page(const memory::PageRequest& request) override {
    if (request.bytes == 0 || request.bytes % 4 != 0 || request.bytes > max_bytes) {
      throw std::logic_error("a page of a size that the device does not make");
    }
    if (fail_at && (*fail_at)-- == 0) {
      fail_at.reset();
      if (fail_by_throwing) throw std::runtime_error("the device is gone");
      return failure(request);
    }
    if (reserved + request.bytes > memory) return failure(request);
    Made page{request.bytes, request.use, {}, 0, {}};
    if (memory::has(request.use, memory::PageUse::upload)) page.state = Made::State::mapped;
    reserved += request.bytes;
    pages.emplace(next_, std::move(page));
    ++made_ever;
    return {memory::PageHandle{next_++}, std::nullopt};
  }

  void free_page(memory::PageHandle page) noexcept override {
    const Made& made = pages.at(page.value);  // unknown: ends the test program
    if (made.last_use > done) freed_in_use = true;
    reserved -= made.bytes;
    pages.erase(page.value);
  }
  bool freed_in_use = false;

  [[nodiscard]] Bytes max_page_bytes() const override { return max_bytes; }

  void map(memory::PageHandle page) override {
    expect(page, Made::State::unmapped, "map() of a page that is not the device's");
    at(page).state = Made::State::mapping;
  }
  [[nodiscard]] bool mapped(memory::PageHandle page) override {
    Made& made = at(page);
    if (made.state == Made::State::mapping && made.last_use <= done) {
      made.state = Made::State::mapped;
    }
    return made.state == Made::State::mapped;
  }
  void wait_mapped(memory::PageHandle page) override {
    if (at(page).state == Made::State::unmapped) {
      throw std::logic_error("wait_mapped() of a page that nobody asked for");
    }
    done = std::max(done, at(page).last_use);
    if (!mapped(page)) throw std::logic_error("unreachable");
  }
  [[nodiscard]] std::byte* data(memory::PageHandle page) override {
    expect(page, Made::State::mapped, "data() of a page that is not mapped");
    Made& made = at(page);
    made.data.resize(made.bytes);
    return made.data.data();
  }
  void unmap(memory::PageHandle page) override {
    expect(page, Made::State::mapped, "unmap() of a page that is not mapped");
    at(page).state = Made::State::unmapped;
  }
  [[nodiscard]] std::uint64_t completed() override { return done; }

  /// A submission that uses these pages.
  void use(memory::PageHandle page, std::uint64_t ticket) {
    expect(page, Made::State::unmapped, "a page enters a submission while the host has it");
    at(page).last_use = ticket;
  }

  [[nodiscard]] Made& at(memory::PageHandle page) {
    const auto found = pages.find(page.value);
    if (found == pages.end()) throw std::logic_error("a page that does not exist");
    return found->second;
  }

 private:
  void expect(memory::PageHandle page, Made::State state, const char* what) {
    if (at(page).state != state) throw std::logic_error(what);
  }
  static PageSource::Made failure(const memory::PageRequest& request) {
    return {{},
            memory::StorageFailure{memory::StorageFailure::Kind::not_now, request.bytes, 0,
                                   "The fake device is out of memory."}};
  }

  std::uint64_t next_ = 100;
};

}  // namespace berth::test
