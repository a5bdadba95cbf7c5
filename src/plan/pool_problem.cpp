// SPDX-License-Identifier: Apache-2.0
#include "plan/pool_problem.hpp"

#include <tuple>

namespace berth::plan::detail {

Graph::Graph(std::size_t nodes, std::vector<std::pair<std::uint32_t, std::uint32_t>>&& pairs) {
  const auto taken = std::move(pairs);
  first_.assign(nodes + 1, 0);
  if (taken.empty()) return;
  for (const auto& [from, to] : taken) ++first_[from + 1];
  for (std::size_t n = 0; n < nodes; ++n) first_[n + 1] += first_[n];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  to_.resize(taken.size());
  for (const auto& [from, to] : taken) to_[next[from]++] = to;
  // Sort each list, drop repeats, and close the gaps.
  std::uint32_t out = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto begin = to_.begin() + first_[n];
    const auto end = to_.begin() + next[n];
    std::sort(begin, end);
    first_[n] = out;
    std::uint32_t last = kNone;
    for (auto it = begin; it != end; ++it) {
      if (*it != last) to_[out++] = last = *it;
    }
  }
  first_[nodes] = out;
  to_.resize(out);
}

std::uint32_t pool_barriers(const PoolProblem& problem, std::span<const std::uint32_t> page,
                            std::uint32_t base, std::uint32_t pages) {
  struct Seen {
    std::uint32_t read = 0;
    std::uint32_t written = 0;
  };
  const auto items = static_cast<std::uint32_t>(problem.items.size());
  std::vector<Seen> seen(pages);
  std::uint32_t stretch = 1;
  for (std::uint32_t p = 0; p < problem.positions; ++p) {
    const std::span<const Touch> touches(problem.touches.data() + problem.first_touch[p],
                                         problem.touches.data() + problem.first_touch[p + 1]);
    const auto page_of = [&](const Touch& t) {
      return t.item < items ? base + page[t.item] : t.item - items;
    };
    for (const Touch& touch : touches) {
      const Seen& before = seen[page_of(touch)];
      if (before.written == stretch || (touch.writes && before.read == stretch)) {
        ++stretch;
        break;
      }
    }
    for (const Touch& touch : touches) {
      Seen& now = seen[page_of(touch)];
      (touch.writes ? now.written : now.read) = stretch;
    }
  }
  return stretch - 1;
}

Cost cost_of(const PoolProblem& problem, const PoolPlan& plan) {
  std::vector<std::uint8_t> used(plan.extent.size(), 0);
  for (const std::uint32_t page : plan.page) used[page] = 1;
  Cost cost;
  for (std::size_t p = 0; p < plan.extent.size(); ++p) {
    if (p < problem.bins.size()) {
      const Bin& bin = problem.bins[p];
      if (used[p] == 0 && bin.idle) continue;
      const Bytes grown = plan.extent[p] <= bin.bytes
                              ? 0
                              : align_up(plan.extent[p], problem.granularity) - bin.bytes;
      cost.to_make += grown;
      cost.held += bin.bytes + grown;
    } else if (used[p] != 0) {
      const Bytes bytes = align_up(plan.extent[p], problem.granularity);
      cost.to_make += bytes;
      cost.held += bytes;
      ++cost.new_pages;
    }
  }
  return cost;
}

bool better(const Cost& a, const Cost& b, std::uint32_t few_pages) {
  const auto many = [&](const Cost& c) { return std::max(c.new_pages, few_pages); };
  if (many(a) != many(b)) {
    const bool a_has_more = many(a) > many(b);
    const Cost& more = a_has_more ? a : b;
    const Cost& less = a_has_more ? b : a;
    const bool worth_it = more.to_make + more.to_make / 100 < less.to_make;
    return worth_it == a_has_more;
  }
  return std::tie(a.to_make, a.held) < std::tie(b.to_make, b.held);
}

Bytes max_live(std::span<const Item> items, std::uint32_t positions) {
  std::vector<Bytes> change(std::size_t{positions} + 1, 0);  // wraps around; the sums do not
  for (const Item& item : items) {
    change[item.start] += item.size;
    change[item.end] -= item.size;
  }
  Bytes live = 0;
  Bytes most = 0;
  for (const Bytes c : change) most = std::max(most, live += c);
  return most;
}

}  // namespace berth::plan::detail
