// SPDX-License-Identifier: Apache-2.0
#include "plan/pack.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace berth::plan::detail {
namespace {

constexpr Bytes kUnplaced = kWholeSize;

class Packer {
 public:
  Packer(std::span<const Item> items, Random& random)
      : items_(items), random_(random), offset_(items.size(), kUnplaced) {
    listed_ = find_neighbours();
    if (!listed_) first_.clear();
  }

  [[nodiscard]] bool large() const { return !listed_; }

  /// Puts every item, in this order, into the lowest hole that fits. Returns: the extent.
  Bytes first_fit(const std::vector<std::uint32_t>& order) {
    std::fill(offset_.begin(), offset_.end(), kUnplaced);
    shelf_.clear();
    Bytes extent = 0;
    for (const std::uint32_t i : order) {
      if (listed_) gather(i);
      const Bytes at = lowest(i, listed_ ? placed_ : shelf_);
      offset_[i] = at;
      extent = std::max(extent, at + items_[i].size);
      if (listed_) continue;
      const auto behind = std::partition_point(shelf_.begin(), shelf_.end(),
                                               [at](const Block& b) { return b.from < at; });
      shelf_.insert(behind, {at, at + items_[i].size, i});
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

  /// The lowest hole for an item among blocks that are sorted by offset; those that the item does
  /// not meet are passed over.
  [[nodiscard]] Bytes lowest(std::uint32_t i, const std::vector<Block>& blocks) const {
    const Item& item = items_[i];
    Bytes at = 0;
    for (const Block& block : blocks) {
      if (!listed_ && !items_[block.item].meets(item)) continue;
      if (block.from >= at && block.from - at >= item.size) break;
      at = std::max(at, align_up(block.to, item.alignment));
    }
    return at;
  }

  /// The placed neighbours of an item, by offset.
  void gather(std::uint32_t i) {
    placed_.clear();
    const auto add = [&](std::uint32_t other) {
      if (offset_[other] == kUnplaced) return;
      placed_.push_back({offset_[other], offset_[other] + items_[other].size, other});
    };
    if (listed_) {
      for (std::uint32_t n = first_[i]; n < first_[i + 1]; ++n) add(to_[n]);
    } else {
      for (std::uint32_t other = 0; other < items_.size(); ++other) {
        if (items_[other].meets(items_[i])) add(other);
      }
    }
    std::sort(placed_.begin(), placed_.end(), [](const Block& a, const Block& b) {
      return a.from != b.from ? a.from < b.from : a.item < b.item;
    });
  }

  /// The cheapest place found so far, ties broken evenly.
  struct Choice {
    Bytes at = 0;
    std::uint64_t cost = kWholeSize;
    std::uint32_t ties = 0;
  };

  void consider(Choice& best, Bytes at, std::uint64_t cost) {
    if (cost > best.cost) return;
    if (cost < best.cost) best = {at, cost, 0};
    if (random_.below(++best.ties) == 0) best.at = at;
  }

  /// Places item `i` where the weights of those in its way are least, and sends them away.
  /// Returns: the work done.
  std::uint64_t settle(std::uint32_t i, Bytes target) {
    gather(i);
    const Item& item = items_[i];
    if (item.size > target) {  // cannot be; keeps the arithmetic below safe
      offset_[i] = 0;
      return 50;
    }
    const Bytes highest = align_down(target - item.size, item.alignment);
    by_end_ = placed_;
    std::sort(by_end_.begin(), by_end_.end(), [](const Block& a, const Block& b) {
      return a.to != b.to ? a.to < b.to : a.item < b.item;
    });
    // In the way of [at, at + size) are those that start below its end, less those that end by its
    // start. Both counts only grow while `at` does.
    Choice best;
    const auto try_all = [&](auto position_of, const std::vector<Block>& blocks) {
      std::size_t started = 0;
      std::size_t ended = 0;
      std::uint64_t in_way = 0;
      for (const Block& block : blocks) {
        const Bytes at = position_of(block);
        if (at == kUnplaced) continue;
        if (at > highest) break;
        for (; started < placed_.size() && placed_[started].from < at + item.size; ++started) {
          in_way += weight_[placed_[started].item];
        }
        for (; ended < by_end_.size() && by_end_[ended].to <= at; ++ended) {
          in_way -= weight_[by_end_[ended].item];
        }
        consider(best, at, in_way);
      }
    };
    const std::vector<Block> ground{{0, 0, i}};
    const std::vector<Block> ceiling{{highest + item.size, highest + item.size, i}};
    const auto above = [&](const Block& b) { return align_up(b.to, item.alignment); };
    const auto below = [&](const Block& b) {
      return b.from < item.size ? kUnplaced : align_down(b.from - item.size, item.alignment);
    };
    try_all(above, ground);
    try_all(below, ceiling);
    try_all(above, by_end_);
    try_all(below, placed_);
    offset_[i] = best.at;
    if (best.cost != 0) {
      for (const Block& block : placed_) {
        if (block.from >= best.at + item.size || block.to <= best.at) continue;
        offset_[block.item] = kUnplaced;
        homeless_.push_back(block.item);
      }
      ++weight_[i];  // who had to eject others is harder to eject
    }
    return 100 + placed_.size() * (listed_ ? 12 : 60) + (listed_ ? 0 : items_.size());
  }

  /// Lists who meets whom. Returns: false if the lists would be too long.
  bool find_neighbours() {
    const std::size_t count = items_.size();
    const std::size_t most = 64 * count + 200'000;
    std::vector<std::uint32_t> by_start(count);
    std::iota(by_start.begin(), by_start.end(), 0);
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::uint32_t a, std::uint32_t b) {
      return items_[a].start < items_[b].start;
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::vector<std::uint32_t> live;
    for (const std::uint32_t i : by_start) {
      std::erase_if(live, [&](std::uint32_t j) { return items_[j].end <= items_[i].start; });
      if (pairs.size() + 2 * live.size() > most) return false;
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
    return true;
  }

  std::span<const Item> items_;
  Random& random_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
  std::vector<Bytes> offset_;
  std::vector<Block> placed_;
  std::vector<Block> by_end_;
  std::vector<Block> shelf_;  ///< all placed items by offset, where there are no lists
  bool listed_ = true;
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
  // Among equal sizes the earliest first: they then fill the fewest rows.
  const auto by_size_and_start = [&](std::uint32_t i) {
    return std::pair(items[i].size, ~items[i].start);
  };
  if (packer.large()) {
    // Not the last byte is wanted of a large page.
    const Bytes enough = target + target / 256;
    if (first_fit(by_size_and_start) || work == 0 || best.extent <= enough) return best;
    // Sizes within a factor of four count as equal.
    const auto by_class_and_start = [&](std::uint32_t i) {
      return std::pair((std::bit_width(items[i].size) - 1) / 2, ~items[i].start);
    };
    if (first_fit(by_class_and_start) || best.extent <= enough) return best;
  } else if (first_fit([&](std::uint32_t i) { return items[i].size; }) || work == 0 ||
             first_fit(by_size_and_start) ||
             first_fit([&](std::uint32_t i) { return items[i].size * life(i); }) ||
             first_fit([&](std::uint32_t i) { return life(i); }) ||
             first_fit([&](std::uint32_t i) { return ~Bytes{items[i].start}; })) {
    return best;
  }
  // First the target itself, then half-way between it and what is known.
  // A large page is not packed to the last byte.
  Bytes goal = packer.large() ? target + target / 256 : target;
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
