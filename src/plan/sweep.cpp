// SPDX-License-Identifier: Apache-2.0
#include "plan/sweep.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace berth::plan::detail {
namespace {

/// The holes of a page at the current moment, sorted by offset. Padding keeps its room inside the
/// page, and only hangs over at the very end.
class Holes {
 public:
  Holes(std::vector<Range> free, Bytes limit) : holes_(std::move(free)), limit_(limit) {}

  struct Fit {
    std::size_t hole = 0;
    Bytes offset = 0;
    Bytes growth = 0;  ///< by how much the page's extent rises
    Bytes waste = 0;   ///< what is left of the hole
  };

  /// The hole that lets the extent rise least; among those that do not raise it, the tightest one.
  [[nodiscard]] std::optional<Fit> find(const Item& item, Bytes extent) const {
    std::optional<Fit> best;
    // Far-reaching searches are cut off, so that a page with very many holes stays cheap.
    const std::size_t looked_at = std::min<std::size_t>(holes_.size(), kMostHoles);
    for (std::size_t i = 0; i < looked_at; ++i) consider(i, item, extent, best);
    if (looked_at < holes_.size()) consider(holes_.size() - 1, item, extent, best);
    return best;
  }

  /// Returns: the range taken.
  Range take(const Fit& fit, const Item& item) {
    Range& hole = holes_[fit.hole];
    const Range taken{fit.offset, room(fit.offset, item)};
    const Range rest{taken.end(), hole.end() - taken.end()};
    const Range front{hole.offset, fit.offset - hole.offset};
    const auto at = holes_.begin() + static_cast<std::ptrdiff_t>(fit.hole);
    if (!front.empty() && !rest.empty()) {
      *at = front;
      holes_.insert(at + 1, rest);
    } else if (front.empty() && rest.empty()) {
      holes_.erase(at);
    } else {
      *at = front.empty() ? rest : front;
    }
    return taken;
  }

  void give_back(Range range) {
    auto after = std::partition_point(holes_.begin(), holes_.end(),
                                      [&](Range r) { return r.offset < range.offset; });
    const bool joins_after = after != holes_.end() && after->offset == range.end();
    const bool joins_before = after != holes_.begin() && (after - 1)->end() == range.offset;
    if (joins_before && joins_after) {
      (after - 1)->bytes += range.bytes + after->bytes;
      holes_.erase(after);
    } else if (joins_before) {
      (after - 1)->bytes += range.bytes;
    } else if (joins_after) {
      *after = {range.offset, range.bytes + after->bytes};
    } else {
      holes_.insert(after, range);
    }
  }

 private:
  static constexpr std::size_t kMostHoles = 256;

  [[nodiscard]] Bytes room(Bytes offset, const Item& item) const {
    return offset >= limit_ ? 0 : std::min(item.size, limit_ - offset);
  }

  void consider(std::size_t i, const Item& item, Bytes extent, std::optional<Fit>& best) const {
    const Range& hole = holes_[i];
    const Bytes offset = align_up(hole.offset, item.alignment);
    const Bytes end = offset + room(offset, item);
    if (end > hole.end() || end < offset + item.bytes) return;
    const Fit fit{i, offset, end > extent ? end - extent : 0, hole.end() - end};
    if (!best || fit.growth < best->growth ||
        (fit.growth == best->growth && fit.waste < best->waste)) {
      best = fit;
    }
  }

  std::vector<Range> holes_;
  Bytes limit_;
};

/// Item numbers sorted by a position, stably.
template <class Key>
std::vector<std::uint32_t> sorted_by(const std::vector<Item>& items, std::uint32_t positions,
                                     Key key) {
  std::vector<std::uint32_t> next(std::size_t{positions} + 2, 0);
  for (const Item& item : items) ++next[key(item) + 1];
  for (std::size_t p = 1; p < next.size(); ++p) next[p] += next[p - 1];
  std::vector<std::uint32_t> sorted(items.size());
  for (std::uint32_t i = 0; i < items.size(); ++i) sorted[next[key(items[i])]++] = i;
  return sorted;
}

}  // namespace

PoolPlan sweep(const PoolProblem& problem, Bins bins) {
  const std::vector<Item>& items = problem.items;
  PoolPlan plan;
  plan.page.assign(items.size(), kNone);
  plan.offset.assign(items.size(), 0);
  std::vector<Holes> pages;
  pages.reserve(problem.bins.size());
  for (const Bin& bin : problem.bins) {
    pages.emplace_back(bins == Bins::use ? bin.free : std::vector<Range>{}, bin.limit);
  }
  plan.extent.assign(pages.size(), 0);
  // An existing page counts as it is: filling it costs nothing.
  std::vector<Bytes> extent(pages.size());
  for (std::size_t p = 0; p < pages.size(); ++p) extent[p] = problem.bins[p].bytes;

  std::vector<std::uint32_t> births =
      sorted_by(items, problem.positions, [](const Item& i) { return i.start; });
  for (auto first = births.begin(); first != births.end();) {
    const auto last = std::find_if(first, births.end(), [&](std::uint32_t i) {
      return items[i].start != items[*first].start;
    });
    std::stable_sort(first, last, [&](std::uint32_t a, std::uint32_t b) {
      return items[a].size > items[b].size;
    });
    first = last;
  }
  const std::vector<std::uint32_t> deaths =
      sorted_by(items, problem.positions, [](const Item& i) { return i.end; });
  std::vector<Range> taken(items.size());
  Permission permission(problem);
  auto death = deaths.begin();
  for (const std::uint32_t i : births) {
    const Item& item = items[i];
    for (; death != deaths.end() && items[*death].end <= item.start; ++death) {
      pages[plan.page[*death]].give_back(taken[*death]);
    }
    permission.ask(i, plan.page);
    std::optional<Holes::Fit> best;
    std::uint32_t page = kNone;
    for (std::uint32_t p = 0; p < pages.size(); ++p) {
      if (!permission.allows(p)) continue;
      const auto fit = pages[p].find(item, extent[p]);
      if (!fit) continue;
      if (!best || fit->growth < best->growth ||
          (fit->growth == best->growth && fit->growth == 0 && fit->waste < best->waste)) {
        best = fit;
        page = p;
      }
    }
    if (!best || best->growth > item.bytes) {
      page = static_cast<std::uint32_t>(pages.size());
      pages.emplace_back(std::vector<Range>{{0, problem.page_limit}}, problem.page_limit);
      plan.extent.push_back(0);
      extent.push_back(0);
      best = pages[page].find(item, 0);
    }
    taken[i] = pages[page].take(*best, item);
    plan.page[i] = page;
    plan.offset[i] = best->offset;
    plan.extent[page] = std::max(plan.extent[page], taken[i].end());
    extent[page] = std::max(extent[page], taken[i].end());
  }
  return plan;
}

}  // namespace berth::plan::detail
