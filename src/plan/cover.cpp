// SPDX-License-Identifier: Apache-2.0
#include "plan/cover.hpp"

#include <algorithm>

#include "plan/pool_problem.hpp"

namespace berth::plan::detail {
namespace {

/// Branches on the uncovered node with the most uncovered edges: take it, or take all neighbours.
class Search {
 public:
  Search(const std::vector<Bytes>& weight, const Graph& graph, std::vector<std::uint8_t>& best)
      : weight_(weight), graph_(graph), best_(best), in_(weight.size(), kOpen) {}

  void run(const std::vector<std::uint32_t>& component) {
    component_ = component;
    best_cost_ = kNever;
    left_ = kMostSteps;
    branch(0);
    for (const std::uint32_t n : component) in_[n] = kOpen;
  }

 private:
  enum State : std::uint8_t { kOpen, kIn, kOut };
  static constexpr int kMostSteps = 20000;

  void branch(Bytes cost) {
    if (cost >= best_cost_) return;
    std::uint32_t pick = kNone;
    std::size_t most = 0;
    for (const std::uint32_t n : component_) {
      if (in_[n] != kOpen) continue;
      std::size_t open = 0;
      for (const std::uint32_t m : graph_.of(n)) open += in_[m] == kOpen ? 1U : 0U;
      if (open > most) {
        most = open;
        pick = n;
      }
    }
    if (pick == kNone) {
      best_cost_ = cost;
      for (const std::uint32_t n : component_) best_[n] = in_[n] == kIn ? 1 : 0;
      return;
    }
    std::vector<std::uint32_t> neighbours;
    Bytes together = 0;
    for (const std::uint32_t m : graph_.of(pick)) {
      if (in_[m] != kOpen) continue;
      neighbours.push_back(m);
      together += weight_[m];
    }
    const bool pick_first = weight_[pick] <= together;
    for (const bool take_pick : {pick_first, !pick_first}) {
      if (left_-- <= 0 && best_cost_ != kNever) return;
      if (take_pick) {
        in_[pick] = kIn;
        branch(cost + weight_[pick]);
      } else {
        in_[pick] = kOut;
        for (const std::uint32_t m : neighbours) in_[m] = kIn;
        branch(cost + together);
        for (const std::uint32_t m : neighbours) in_[m] = kOpen;
      }
      in_[pick] = kOpen;
    }
  }

  const std::vector<Bytes>& weight_;
  const Graph& graph_;
  std::vector<std::uint8_t>& best_;
  std::vector<std::uint8_t> in_;
  std::vector<std::uint32_t> component_;
  Bytes best_cost_ = kNever;
  int left_ = 0;
};

}  // namespace

std::vector<std::uint8_t> cheapest_cover(
    const std::vector<Bytes>& weight,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  std::vector<std::uint8_t> cover(weight.size(), 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> both;
  for (const auto& [a, b] : edges) {
    if (weight[a] == kNever && weight[b] == kNever) continue;
    // A node beside one that may not be taken has to be taken.
    if (weight[a] == kNever) cover[b] = 1;
    if (weight[b] == kNever) cover[a] = 1;
  }
  for (const auto& [a, b] : edges) {
    if (weight[a] == kNever || weight[b] == kNever || cover[a] != 0 || cover[b] != 0) continue;
    both.emplace_back(a, b);
    both.emplace_back(b, a);
  }
  const Graph graph(weight.size(), std::move(both));
  Search search(weight, graph, cover);
  std::vector<std::uint8_t> seen(weight.size(), 0);
  for (std::uint32_t n = 0; n < weight.size(); ++n) {
    if (seen[n] != 0 || graph.of(n).empty()) continue;
    std::vector<std::uint32_t> component{n};
    seen[n] = 1;
    for (std::size_t i = 0; i < component.size(); ++i) {
      for (const std::uint32_t m : graph.of(component[i])) {
        if (seen[m] == 0) {
          seen[m] = 1;
          component.push_back(m);
        }
      }
    }
    search.run(component);
  }
  return cover;
}

}  // namespace berth::plan::detail
