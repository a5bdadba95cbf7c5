// SPDX-License-Identifier: Apache-2.0
//
// The part of AssignSearch that trades memory for overlap: within a given sum of caps, items of
// tasks that could run side by side are parted.
#include <algorithm>

#include "plan/assign_search.hpp"

namespace berth::plan::detail {

void AssignSearch::count_spoilt() {
  const std::uint32_t stretches = soft_->stretches();
  spoilt_.assign(stretches, 0);
  spoilt_by_.assign(stretches, 0);
  bad_.clear();
  bad_at_.assign(stretches, kNone);
  for (std::uint32_t s = 0; s < stretches; ++s) {
    for (std::uint32_t k = soft_->first_pair[s]; k < soft_->first_pair[s + 1]; ++k) {
      const auto& [a, b] = soft_->pairs[k];
      if (page_[a] == page_[b]) ++spoilt_[s];
    }
    if (spoilt_[s] == 0) continue;
    bad_at_[s] = static_cast<std::uint32_t>(bad_.size());
    bad_.push_back(s);
  }
}

/// Returns: by how much the cost of spoilt stretches rises if the chain changes sides.
AssignSearch::Load AssignSearch::soft_change(std::uint32_t from, std::uint32_t to) {
  changed_.clear();
  for (const std::uint32_t i : chain_) {
    const std::uint32_t old = page_[i];
    const std::uint32_t now = old == from ? to : from;
    work_ += soft_->first[i + 1] - soft_->first[i];
    for (std::uint32_t k = soft_->first[i]; k < soft_->first[i + 1]; ++k) {
      const auto& [other, stretch] = soft_->ends[k];
      if (mark_[other] == stamp_) continue;  // changes sides as well: nothing between them changes
      const std::int32_t change = page_[other] == now ? 1 : page_[other] == old ? -1 : 0;
      if (change == 0) continue;
      changed_.push_back(stretch);
      spoilt_by_[stretch] += change;
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  Load rise = 0;
  for (const std::uint32_t s : changed_) {
    rise += soft_cost(spoilt_[s] + spoilt_by_[s]) - soft_cost(spoilt_[s]);
  }
  return rise;
}

/// Takes over what soft_change() found.
void AssignSearch::apply_soft() {
  for (const std::uint32_t s : changed_) {
    spoilt_[s] += spoilt_by_[s];
    if ((spoilt_[s] != 0) == (bad_at_[s] != kNone)) continue;
    if (spoilt_[s] != 0) {
      bad_at_[s] = static_cast<std::uint32_t>(bad_.size());
      bad_.push_back(s);
    } else {
      bad_[bad_at_[s]] = bad_.back();
      bad_at_[bad_.back()] = bad_at_[s];
      bad_.pop_back();
      bad_at_[s] = kNone;
    }
  }
}

/// One end of a pair that shares a page.
std::uint32_t AssignSearch::pick_spoilt(Random& random) const {
  const std::uint32_t s = bad_[random.below(static_cast<std::uint32_t>(bad_.size()))];
  const std::uint32_t first = soft_->first_pair[s];
  const std::uint32_t count = soft_->first_pair[s + 1] - first;
  std::uint32_t k = random.below(count);
  while (page_[soft_->pairs[first + k].first] != page_[soft_->pairs[first + k].second]) {
    k = k + 1 == count ? 0 : k + 1;
  }
  const auto& [a, b] = soft_->pairs[first + k];
  return random.below(2) == 0 ? a : b;
}

bool AssignSearch::spread(const SoftPairs& soft, Bytes goal, std::uint64_t work, Bytes heat,
                          Random& random) {
  if (pages_ < 2 || page_.empty()) return false;
  soft_ = &soft;
  per_stretch_ = static_cast<Load>(heat) * 2;
  per_pair_ = static_cast<Load>(heat) / 4;
  const std::uint64_t limit = work_ + work;
  place_caps(goal, random);
  count_spoilt();
  Load cost = 0;
  for (const std::uint32_t s : bad_) cost += soft_cost(spoilt_[s]);
  Load best = excess_ == 0 ? cost : kNoCap;
  bool found = false;
  std::uint32_t step = 0;
  while (best > 0 && work_ < limit) {
    if (++step % 32 == 0 && excess_ > 0) hand_over_cap(heat, random);
    if (excess_ == 0 && bad_.empty()) break;
    const bool lower = excess_ > 0 && (bad_.empty() || random.below(2) == 0);
    const std::uint32_t item = lower ? pick_item(random) : pick_spoilt(random);
    const std::uint32_t from = page_[item];
    std::uint32_t to = random.below(pages_ - 1);
    if (to >= from) ++to;
    work_ += 30;
    if (!gather_chain(item, to)) continue;
    const Load rise = evaluate(from, to);
    const Load soft_rise = soft_change(from, to);
    const Load both = rise + soft_rise;
    if (both <= 0 || static_cast<Bytes>(both) <= random.exponential(heat)) {
      apply_soft();
      apply(from, to);
      excess_ += rise;
      cost += soft_rise;
      if (excess_ == 0 && cost < best) {
        best = cost;
        best_soft_ = page_;
        found = true;
      }
    }
    for (const std::uint32_t s : changed_) spoilt_by_[s] = 0;
  }
  return found;
}

std::uint32_t AssignSearch::polish(Bytes goal, std::uint64_t work, Random& random) {
  const auto existing = static_cast<std::uint32_t>(problem_.bins.size());
  const auto count = [&] {
    work_ += 4 * problem_.touches.size();
    return pool_barriers(problem_, page_, existing, existing + pages_);
  };
  std::uint32_t best = count();
  best_soft_ = page_;
  if (pages_ < 2 || page_.empty()) return best;
  place_caps(goal, random);
  if (excess_ > 0) return best;
  const std::uint64_t limit = work_ + work;
  std::uint32_t now = best;
  for (std::uint32_t step = 0; work_ < limit; ++step) {
    const std::uint32_t item = random.below(static_cast<std::uint32_t>(page_.size()));
    const std::uint32_t from = page_[item];
    std::uint32_t to = random.below(pages_ - 1);
    if (to >= from) ++to;
    work_ += 30;
    if (!gather_chain(item, to)) continue;
    const Load rise = evaluate(from, to);
    if (rise > 0) {
      if (step % 8 != 0 || !raise_cap(to)) continue;
      if (evaluate(from, to) > 0) continue;
    }
    apply(from, to);
    const std::uint32_t after = count();
    if (after > now + (random.below(64) == 0 ? 1 : 0)) {
      apply(from, to);  // the same chain once more: back again
      continue;
    }
    now = after;
    if (now < best) {
      best = now;
      best_soft_ = page_;
    }
  }
  return best;
}

/// Gives a page all that the other caps leave over.
bool AssignSearch::raise_cap(std::uint32_t page) {
  Load spare = 0;
  for (std::uint32_t p = 0; p < pages_; ++p) {
    if (p == page) continue;
    const Load peak = *std::max_element(load(p), load(p) + positions_);
    spare += cap_[p] - peak;
    cap_[p] = peak;
  }
  work_ += std::uint64_t{pages_} * positions_ / 2;
  const auto limit = static_cast<Load>(std::min(problem_.page_limit, kMostPageBytes));
  cap_[page] = std::min(limit, cap_[page] + spare);
  return spare > 0;
}

}  // namespace berth::plan::detail
