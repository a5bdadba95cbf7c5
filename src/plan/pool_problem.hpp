// SPDX-License-Identifier: Apache-2.0
//
// The placer's inner problem: one pool, no tasks, no tensors. Items have a room, a life and
// conflicts; an answer gives each a page and an offset. Pools never share a page, so each is solved
// alone. Plain data; see window.hpp for how a Problem becomes these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::detail {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// Adjacency lists in one array; neighbours are sorted and distinct.
class Graph {
 public:
  Graph() = default;
  /// Lists `second` under `first` for each pair. `pairs` is consumed.
  Graph(std::size_t nodes, std::vector<std::pair<std::uint32_t, std::uint32_t>>&& pairs);

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t node) const {
    if (first_.empty()) return {};
    return {to_.data() + first_[node], to_.data() + first_[node + 1]};
  }
  [[nodiscard]] bool empty() const { return to_.empty(); }
  [[nodiscard]] std::size_t edges() const { return to_.size(); }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
};

/// A version, or versions that take over each other's bytes in place.
struct Item {
  Bytes size = 0;       ///< room it takes: its bytes, rounded up to its alignment
  Bytes bytes = 0;      ///< without the padding, which may hang over a page's end
  Bytes alignment = 1;  ///< a power of two
  std::uint32_t start = 0;
  std::uint32_t end = 0;  ///< half-open positions in the order

  [[nodiscard]] bool meets(const Item& other) const {
    return start < other.end && other.start < end;
  }
};

/// Bytes of an existing page that a version with a given place holds for a while.
struct Block {
  Range range;
  std::uint32_t start = 0;
  std::uint32_t end = 0;
};

/// An existing page: what is free on it, and what it costs.
struct Bin {
  PageId page;
  Bytes bytes = 0;
  Bytes limit = 0;          ///< how large it may become: more than `bytes` with Growth::extend
  std::vector<Range> free;  ///< sorted; what it may grow by is free
  /// The same and the places of given versions, which are free while `blocks` do not hold them.
  std::vector<Range> rooms;
  std::vector<Block> blocks;
  bool idle = false;  ///< costs its bytes only if it is used
};

/// No page is larger, so that offsets can be rounded up without a thought. Far above all versions.
inline constexpr Bytes kMostPageBytes = Bytes{1} << 62;

/// A use by the task at some position: of an item, or of a bin that holds a version of given place.
struct Touch {
  std::uint32_t item = 0;  ///< items.size() + b stands for bin b
  bool writes = false;
};

struct PoolProblem {
  PoolId pool;
  std::vector<Item> items;  ///< ordered by first use, so that ids have no influence
  Graph conflicts;          ///< pairs that may not share a page
  std::vector<Bin> bins;
  Graph blocked;  ///< per item: bins it may not lie in
  std::uint32_t positions = 0;
  std::vector<std::uint32_t> first_touch;  ///< per position, and one more
  std::vector<Touch> touches;
  Bytes page_limit = kWholeSize;
  Bytes granularity = 1;
  std::uint32_t few_pages = 8;
  Growth growth = Growth::replace;
};

/// Pages are numbered: first the bins, then new ones.
struct PoolPlan {
  std::vector<std::uint32_t> page;  ///< per item
  std::vector<Bytes> offset;        ///< per item
  std::vector<Bytes> extent;        ///< per page; 0 = unused (or only empty items)
};

/// Barriers of the pool's order when its items lie on the pages base + `page` (see barriers.hpp).
/// Touches of other pools are not seen.
[[nodiscard]] std::uint32_t pool_barriers(const PoolProblem& problem,
                                          std::span<const std::uint32_t> page, std::uint32_t base,
                                          std::uint32_t pages);

/// What a plan costs, most important first: what the device must make, what it then holds, and how
/// many pages that is.
struct Cost {
  Bytes to_make = 0;
  Bytes held = 0;
  std::uint32_t new_pages = 0;
};

[[nodiscard]] Cost cost_of(const PoolProblem& problem, const PoolPlan& plan);
/// True if `a` is to be preferred: fewer bytes, but pages beyond `few_pages` must save 1 %.
[[nodiscard]] bool better(const Cost& a, const Cost& b, std::uint32_t few_pages);
/// Most bytes live at once.
[[nodiscard]] Bytes max_live(std::span<const Item> items, std::uint32_t positions);

}  // namespace berth::plan::detail
