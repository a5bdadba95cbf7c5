// SPDX-License-Identifier: Apache-2.0
#include "plan/pack.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth::plan::detail {
namespace {

constexpr Bytes kUnplaced = kWholeSize;

class Packer {
 public:
  Packer(std::span<const Item> items, Random& random)
      : items_(items), random_(random), offset_(items.size(), kUnplaced) {
    find_neighbours();
  }

  /// Puts every item, in this order, into the lowest hole that fits. Returns: the extent.
  Bytes first_fit(const std::vector<std::uint32_t>& order) {
    std::fill(offset_.begin(), offset_.end(), kUnplaced);
    Bytes extent = 0;
    for (const std::uint32_t i : order) {
      gather(i);
      Bytes at = 0;
      for (const Block& block : placed_) {
        if (block.from >= at && block.from - at >= items_[i].size) break;
        at = std::max(at, align_up(block.to, items_[i].alignment));
      }
      offset_[i] = at;
      extent = std::max(extent, at + items_[i].size);
    }
    return extent;
  }

  /// From the offsets as they are: brings every item below `target`. Returns: whether it did.
  bool eject(Bytes target, std::uint64_t work) {
    weight_.assign(items_.size(), 1);
    homeless_.clear();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (offset_[i] != kUnplaced && offset_[i] + items_[i].size <= target) continue;
      offset_[i] = kUnplaced;
      homeless_.push_back(i);
    }
    std::uint64_t done = 0;
    while (!homeless_.empty() && done < work) {
      std::uint32_t pick = 0;
      for (std::uint32_t k = 1; k < homeless_.size(); ++k) {
        if (items_[homeless_[k]].size > items_[homeless_[pick]].size) pick = k;
      }
      const std::uint32_t i = homeless_[pick];
      homeless_[pick] = homeless_.back();
      homeless_.pop_back();
      done += settle(i, target);
    }
    return homeless_.empty();
  }

  [[nodiscard]] std::vector<Bytes>& offsets() { return offset_; }

 private:
  struct Block {
    Bytes from;
    Bytes to;
    std::uint32_t item;
  };

  /// The placed neighbours of an item, by offset.
  void gather(std::uint32_t i) {
    placed_.clear();
    for (std::uint32_t n = first_[i]; n < first_[i + 1]; ++n) {
      const std::uint32_t other = to_[n];
      if (offset_[other] == kUnplaced) continue;
      placed_.push_back({offset_[other], offset_[other] + items_[other].size, other});
    }
    std::sort(placed_.begin(), placed_.end(), [](const Block& a, const Block& b) {
      return a.from != b.from ? a.from < b.from : a.item < b.item;
    });
  }

  /// Places item `i` where the weights of those in its way are least, and sends them away.
  /// Returns: the work done.
  std::uint64_t settle(std::uint32_t i, Bytes target) {
    gather(i);
    const Item& item = items_[i];
    const Bytes highest = align_down(target - item.size, item.alignment);
    Bytes best_at = 0;
    std::uint64_t best_cost = kWholeSize;
    std::uint32_t ties = 0;
    const auto consider = [&](Bytes at) {
      if (at > highest) return;
      std::uint64_t cost = 0;
      for (const Block& block : placed_) {
        if (block.from >= at + item.size) break;
        if (block.to > at) cost += weight_[block.item];
        if (cost > best_cost) return;
      }
      if (cost < best_cost) ties = 0;
      if (cost < best_cost || random_.below(++ties + 1) == 0) best_at = at;
      best_cost = cost;
    };
    consider(0);
    consider(highest);
    for (const Block& block : placed_) {
      consider(align_up(block.to, item.alignment));
      if (block.from >= item.size) consider(align_down(block.from - item.size, item.alignment));
    }
    offset_[i] = best_at;
    if (best_cost != 0) {
      for (const Block& block : placed_) {
        if (block.from >= best_at + item.size || block.to <= best_at) continue;
        offset_[block.item] = kUnplaced;
        homeless_.push_back(block.item);
      }
      ++weight_[i];  // who had to eject others is harder to eject
    }
    return 50 + placed_.size() * (placed_.size() / 2 + 10);
  }

  void find_neighbours() {
    const std::size_t count = items_.size();
    std::vector<std::uint32_t> by_start(count);
    std::iota(by_start.begin(), by_start.end(), 0);
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::uint32_t a, std::uint32_t b) {
      return items_[a].start < items_[b].start;
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::vector<std::uint32_t> live;
    for (const std::uint32_t i : by_start) {
      std::erase_if(live, [&](std::uint32_t j) { return items_[j].end <= items_[i].start; });
      for (const std::uint32_t j : live) {
        pairs.emplace_back(i, j);
        pairs.emplace_back(j, i);
      }
      live.push_back(i);
    }
    first_.assign(count + 1, 0);
    for (const auto& pair : pairs) ++first_[pair.first + 1];
    for (std::size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    to_.resize(pairs.size());
    for (const auto& [a, b] : pairs) to_[next[a]++] = b;
  }

  std::span<const Item> items_;
  Random& random_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
  std::vector<Bytes> offset_;
  std::vector<Block> placed_;
  std::vector<std::uint64_t> weight_;
  std::vector<std::uint32_t> homeless_;
};

template <class Key>
std::vector<std::uint32_t> order_by(std::size_t count, Key key) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

Packing pack(std::span<const Item> items, Bytes target, std::uint64_t work, Random& random) {
  Packer packer(items, random);
  Packing best{kWholeSize, {}};
  const auto keep = [&](Bytes extent) {
    if (extent < best.extent) best = {extent, packer.offsets()};
    return best.extent <= target;
  };
  const auto life = [&](std::uint32_t i) { return Bytes{items[i].end} - items[i].start; };
  const auto first_fit = [&](auto key) {
    return keep(packer.first_fit(order_by(items.size(), key)));
  };
  if (first_fit([&](std::uint32_t i) { return items[i].size; }) || work == 0 ||
      first_fit([&](std::uint32_t i) { return items[i].size * life(i); }) ||
      first_fit([&](std::uint32_t i) { return life(i); }) ||
      first_fit([&](std::uint32_t i) { return ~Bytes{items[i].start}; })) {
    return best;
  }
  // First the target itself, then half-way between it and what is known.
  Bytes goal = target;
  for (int round = 0; round < 4 && goal < best.extent; ++round) {
    packer.offsets() = best.offset;
    if (packer.eject(goal, round == 0 ? work / 2 : work / 6)) {
      Bytes extent = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        extent = std::max(extent, packer.offsets()[i] + items[i].size);
      }
      keep(extent);
      if (best.extent <= target) break;
    } else if (round != 0) {
      goal = best.extent - (best.extent - goal) / 2;
      continue;
    }
    goal = target + (best.extent - target) / 2;
  }
  return best;
}

}  // namespace berth::plan::detail
