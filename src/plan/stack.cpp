// SPDX-License-Identifier: Apache-2.0
#include "plan/stack.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace berth::plan::detail {
namespace {

/// A page's items by offset. What is not free on an existing page is there all the time.
class Shelf {
 public:
  explicit Shelf(Bytes limit) : limit_(limit) {}

  Shelf(const Bin& bin, std::uint32_t positions) : limit_(bin.limit), extent_(bin.bytes) {
    Bytes at = 0;
    for (const Range& room : bin.rooms) {
      if (room.offset > at) blocks_.push_back({at, room.offset, 0, positions});
      at = room.end();
    }
    if (at < bin.limit) blocks_.push_back({at, bin.limit, 0, positions});
    for (const Block& block : bin.blocks) {
      blocks_.push_back({block.range.offset, block.range.end(), block.start, block.end});
    }
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](const Placed& a, const Placed& b) { return a.from < b.from; });
  }

  [[nodiscard]] Bytes extent() const { return extent_; }

  /// The lowest hole that is large enough all through the item's life.
  [[nodiscard]] std::optional<Bytes> find(const Item& item) const {
    Bytes at = 0;
    for (const Placed& block : blocks_) {
      if (block.start >= item.end || item.start >= block.end) continue;
      if (block.from >= at && block.from - at >= item.size) break;
      at = std::max(at, align_up(block.to, item.alignment));
    }
    if (at > limit_ || limit_ - at < item.bytes) return std::nullopt;
    return at;
  }

  void put(const Item& item, Bytes offset) {
    const Bytes end = offset + std::min(item.size, limit_ - offset);
    const auto at = std::partition_point(blocks_.begin(), blocks_.end(),
                                         [&](const Placed& b) { return b.from < offset; });
    blocks_.insert(at, {offset, end, item.start, item.end});
    extent_ = std::max(extent_, end);
  }

 private:
  struct Placed {
    Bytes from;
    Bytes to;
    std::uint32_t start;
    std::uint32_t end;
  };
  std::vector<Placed> blocks_;
  Bytes limit_ = 0;
  Bytes extent_ = 0;
};

}  // namespace

std::vector<std::uint32_t> by_size(const PoolProblem& problem) {
  std::vector<std::uint32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::uint32_t i) {
    const Item& item = problem.items[i];
    return std::tuple(~item.size, ~(item.end - item.start), i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return order;
}

PoolPlan stack(const PoolProblem& problem, std::span<const std::uint32_t> order,
               std::uint32_t wanted, Bins bins) {
  PoolPlan plan;
  plan.page.assign(problem.items.size(), kNone);
  plan.offset.assign(problem.items.size(), 0);
  std::vector<Shelf> pages;
  for (const Bin& bin : problem.bins) {
    if (bins == Bins::use) {
      pages.emplace_back(bin, problem.positions);
    } else {
      pages.emplace_back(Bytes{0});
    }
  }
  plan.extent.assign(pages.size(), 0);
  const auto existing = static_cast<std::uint32_t>(pages.size());
  Permission permission(problem);
  for (const std::uint32_t i : order) {
    const Item& item = problem.items[i];
    permission.ask(i, plan.page);
    std::uint32_t page = kNone;
    Bytes offset = 0;
    Bytes growth = kWholeSize;
    for (std::uint32_t p = 0; p < pages.size(); ++p) {
      if (!permission.allows(p)) continue;
      const auto found = pages[p].find(item);
      if (!found) continue;
      const Bytes end = *found + item.bytes;
      const Bytes grows = end > pages[p].extent() ? end - pages[p].extent() : 0;
      if (grows >= growth) continue;
      growth = grows;
      page = p;
      offset = *found;
    }
    const bool may_open = pages.size() - existing < wanted && growth >= item.bytes;
    if (page == kNone || growth > item.bytes || may_open) {
      page = static_cast<std::uint32_t>(pages.size());
      pages.emplace_back(problem.page_limit);
      plan.extent.push_back(0);
      offset = 0;
    }
    pages[page].put(item, offset);
    plan.page[i] = page;
    plan.offset[i] = offset;
    plan.extent[page] = std::max(plan.extent[page], pages[page].extent());
  }
  for (std::uint32_t p = 0; p < existing; ++p) {  // an existing page's own size is not an extent
    plan.extent[p] = 0;
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (plan.page[i] >= existing) continue;
    Bytes& extent = plan.extent[plan.page[i]];
    extent = std::max(extent, plan.offset[i] + problem.items[i].bytes);
  }
  return plan;
}

}  // namespace berth::plan::detail
