// SPDX-License-Identifier: Apache-2.0
#include "plan/assign_search.hpp"

#include <algorithm>
#include <utility>

namespace berth::plan::detail {

AssignSearch::AssignSearch(const PoolProblem& problem, std::uint32_t pages)
    : problem_(problem), pages_(pages) {
  // Loads can only peak where a birth is followed by a death: all other positions are merged.
  const std::size_t count = problem.items.size();
  std::vector<std::uint8_t> birth(std::size_t{problem.positions} + 1, 0);
  std::vector<std::uint8_t> death(birth.size(), 0);
  for (const Item& item : problem.items) {
    birth[item.start] = 1;
    death[item.end] = 1;
  }
  std::vector<std::uint32_t> shortened(birth.size());
  bool born = false;
  std::uint32_t now = 0;
  for (std::size_t p = 0; p < birth.size(); ++p) {
    if (death[p] != 0 && born) {
      ++now;
      born = false;
    }
    if (birth[p] != 0) born = true;
    shortened[p] = now;
  }
  positions_ = now + 1;
  start_.resize(count);
  end_.resize(count);
  live_first_.assign(std::size_t{positions_} + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    start_[i] = shortened[problem.items[i].start];
    end_[i] = std::max(shortened[problem.items[i].end], start_[i] + 1);
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) ++live_first_[p + 1];
  }
  for (std::uint32_t p = 0; p < positions_; ++p) live_first_[p + 1] += live_first_[p];
  live_.resize(live_first_.back());
  std::vector<std::uint32_t> next(live_first_.begin(), live_first_.end() - 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) live_[next[p]++] = i;
  }
  mark_.assign(count, 0);
  change_.assign(positions_, 0);
  load_.resize(std::size_t{pages} * positions_);
  above_at_.resize(load_.size());
  cap_.resize(pages);
}

bool AssignSearch::start_greedily(const std::vector<std::uint32_t>& order, std::uint32_t wanted) {
  const auto most = static_cast<std::uint32_t>(cap_.size());
  const auto limit = static_cast<Load>(std::min(problem_.page_limit, kMostPageBytes));
  page_.assign(problem_.items.size(), kNone);
  std::fill(load_.begin(), load_.end(), 0);
  std::vector<Load> peak(most, 0);
  std::vector<std::uint32_t> forbidden(most, kNone);
  pages_ = 0;
  for (const std::uint32_t i : order) {
    for (const std::uint32_t n : problem_.conflicts.of(i)) {
      if (page_[n] != kNone) forbidden[page_[n]] = i;
    }
    const auto size = static_cast<Load>(problem_.items[i].size);
    std::uint32_t best = kNone;
    Load least = size;  // what a new page costs
    Load tightest = 0;
    for (std::uint32_t p = 0; p < pages_; ++p) {
      if (forbidden[p] == i) continue;
      const Load* const at = load(p);
      const Load top = *std::max_element(at + start_[i], at + end_[i]) + size;
      work_ += end_[i] - start_[i] + 10;
      const Load rise = std::max<Load>(0, top - peak[p]);
      if (top > limit || rise > least || (rise == least && best != kNone && top <= tightest)) {
        continue;
      }
      best = p;
      least = rise;
      tightest = top;
    }
    if (best == kNone || (least == size && pages_ < wanted)) {
      if (pages_ == most && best == kNone) return false;
      if (pages_ < most) best = pages_++;
    }
    Load* const at = load(best);
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) {
      at[p] += size;
      peak[best] = std::max(peak[best], at[p]);
    }
    page_[i] = best;
  }
  note_best();
  return true;
}

void AssignSearch::start(const std::vector<std::uint32_t>& page, std::uint32_t active) {
  page_ = page;
  pages_ = active;
  std::fill(load_.begin(), load_.end(), 0);
  for (std::uint32_t i = 0; i < page.size(); ++i) {
    Load* const at = load(page[i]);
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) {
      at[p] += static_cast<Load>(problem_.items[i].size);
    }
  }
  note_best();
}

Bytes AssignSearch::current_sum() {
  Bytes sum = 0;
  for (std::uint32_t p = 0; p < pages_; ++p) {
    sum += static_cast<Bytes>(*std::max_element(load(p), load(p) + positions_));
  }
  return sum;
}

void AssignSearch::note_best() {
  const Bytes sum = current_sum();
  if (sum >= best_sum_) return;
  best_sum_ = sum;
  best_ = page_;
}

/// Caps at the peaks as they are, then lowered at random pages until they sum up to the goal.
void AssignSearch::place_caps(Bytes goal, Random& random) {
  Load left = 0;
  for (std::uint32_t p = 0; p < pages_; ++p) {
    cap_[p] = *std::max_element(load(p), load(p) + positions_);
    left += cap_[p];
  }
  left -= static_cast<Load>(std::min(goal, kMostPageBytes));
  while (left > 0) {
    const std::uint32_t p = random.below(pages_);
    const Load step = std::min(left, cap_[p]);
    cap_[p] -= step;
    left -= step;
  }
  if (left < 0) cap_[random.below(pages_)] -= left;
  // No page may exceed the limit, whatever the others leave over.
  const auto limit = static_cast<Load>(std::min(problem_.page_limit, kMostPageBytes));
  for (std::uint32_t p = 0; p < pages_; ++p) cap_[p] = std::min(cap_[p], limit);
  note_all();
}

void AssignSearch::note_all() {
  above_.clear();
  std::fill(above_at_.begin(), above_at_.end(), kNone);
  excess_ = 0;
  for (std::uint32_t p = 0; p < pages_; ++p) {
    note(p, 0, positions_);
    excess_ += overflow(p, cap_[p]);
  }
}

/// Brings above_ up to date for some positions of a page.
void AssignSearch::note(std::uint32_t page, std::uint32_t low, std::uint32_t high) {
  const Load* const at = load(page);
  for (std::uint32_t p = low; p < high; ++p) {
    const std::uint32_t cell = page * positions_ + p;
    const bool is_above = at[p] > cap_[page];
    if (is_above == (above_at_[cell] != kNone)) continue;
    if (is_above) {
      above_at_[cell] = static_cast<std::uint32_t>(above_.size());
      above_.push_back(cell);
    } else {
      above_[above_at_[cell]] = above_.back();
      above_at_[above_.back()] = above_at_[cell];
      above_.pop_back();
      above_at_[cell] = kNone;
    }
  }
}

AssignSearch::Load AssignSearch::overflow(std::uint32_t page, Load cap) {
  const Load* const at = load(page);
  Load sum = 0;
  for (std::uint32_t p = 0; p < positions_; ++p) sum += std::max<Load>(0, at[p] - cap);
  work_ += positions_ / 2 + 20;
  return sum;
}

/// An item of a page that is too high, at a position where it is; sometimes one beside it.
std::uint32_t AssignSearch::pick_item(Random& random) {
  const std::uint32_t cell = above_[random.below(static_cast<std::uint32_t>(above_.size()))];
  const std::uint32_t page = cell / positions_;
  const std::uint32_t position = cell % positions_;
  const std::uint32_t first = live_first_[position];
  const std::uint32_t count = live_first_[position + 1] - first;
  std::uint32_t k = random.below(count);
  if (random.below(8) == 0) return live_[first + k];
  while (page_[live_[first + k]] != page) k = k + 1 == count ? 0 : k + 1;
  return live_[first + k];
}

/// Collects the item and everything that has to change sides with it. Returns: false if that is
/// too much to be worth a look.
bool AssignSearch::gather_chain(std::uint32_t item, std::uint32_t to) {
  constexpr std::size_t kLongest = 12;
  const std::uint32_t from = page_[item];
  chain_.assign(1, item);
  ++stamp_;
  mark_[item] = stamp_;
  low_ = start_[item];
  high_ = end_[item];
  for (std::size_t k = 0; k < chain_.size(); ++k) {
    const std::uint32_t i = chain_[k];
    const std::uint32_t other_side = page_[i] == from ? to : from;
    for (const std::uint32_t n : problem_.conflicts.of(i)) {
      if (page_[n] != other_side || mark_[n] == stamp_) continue;
      mark_[n] = stamp_;
      if (chain_.size() == kLongest) return false;
      chain_.push_back(n);
      low_ = std::min(low_, start_[n]);
      high_ = std::max(high_, end_[n]);
    }
  }
  return true;
}

/// Returns: by how much the excess rises.
AssignSearch::Load AssignSearch::evaluate(std::uint32_t from, std::uint32_t to) {
  const Load* const a = load(from);
  const Load* const b = load(to);
  const Load cap_a = cap_[from];
  const Load cap_b = cap_[to];
  Load rise = 0;
  work_ += high_ - low_ + 8 * chain_.size() + 20;
  const auto above = [](Load value, Load cap) { return std::max<Load>(0, value - cap); };
  if (chain_.size() == 1) {
    const auto size = static_cast<Load>(problem_.items[chain_.front()].size);
    for (std::uint32_t p = low_; p < high_; ++p) {
      rise += above(b[p] + size, cap_b) - above(b[p], cap_b);
      rise -= above(a[p], cap_a) - above(a[p] - size, cap_a);
    }
    return rise;
  }
  std::fill(change_.begin() + low_, change_.begin() + high_, 0);
  for (const std::uint32_t i : chain_) {
    const auto bytes = static_cast<Load>(problem_.items[i].size);
    const Load size = page_[i] == from ? bytes : -bytes;
    work_ += end_[i] - start_[i];
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) change_[p] += size;
  }
  for (std::uint32_t p = low_; p < high_; ++p) {
    rise += above(b[p] + change_[p], cap_b) - above(b[p], cap_b);
    rise += above(a[p] - change_[p], cap_a) - above(a[p], cap_a);
  }
  return rise;
}

void AssignSearch::apply(std::uint32_t from, std::uint32_t to) {
  for (const std::uint32_t i : chain_) {
    const std::uint32_t old = page_[i];
    const std::uint32_t now = old == from ? to : from;
    const auto size = static_cast<Load>(problem_.items[i].size);
    Load* const a = load(old);
    Load* const b = load(now);
    for (std::uint32_t p = start_[i]; p < end_[i]; ++p) {
      a[p] -= size;
      b[p] += size;
    }
    page_[i] = now;
  }
  note(from, low_, high_);
  note(to, low_, high_);
  work_ += 3 * (std::uint64_t{high_} - low_) + 20;
}

/// Gives a page that is too high some of another one's cap.
void AssignSearch::hand_over_cap(Bytes heat, Random& random) {
  const std::uint32_t cell = above_[random.below(static_cast<std::uint32_t>(above_.size()))];
  const std::uint32_t to = cell / positions_;
  std::uint32_t from = random.below(pages_ - 1);
  if (from >= to) ++from;
  Load step = load_[cell] - cap_[to];
  if (random.below(2) == 0) {
    step = static_cast<Load>(
        problem_.items[random.below(static_cast<std::uint32_t>(page_.size()))].size);
  }
  const auto limit = static_cast<Load>(std::min(problem_.page_limit, kMostPageBytes));
  step = std::min({step, cap_[from], limit - cap_[to]});
  if (step <= 0) return;
  const Load rise = overflow(from, cap_[from] - step) - overflow(from, cap_[from]) +
                    overflow(to, cap_[to] + step) - overflow(to, cap_[to]);
  if (rise > 0 && static_cast<Bytes>(rise) > random.exponential(heat)) return;
  cap_[from] -= step;
  cap_[to] += step;
  excess_ += rise;
  note(from, 0, positions_);
  note(to, 0, positions_);
}

void AssignSearch::shake(std::uint32_t moves, Random& random) {
  if (pages_ < 2 || page_.empty()) return;
  std::fill(cap_.begin(), cap_.end(), kNoCap);
  note_all();
  for (std::uint32_t m = 0; m < moves; ++m) {
    const std::uint32_t item = random.below(static_cast<std::uint32_t>(page_.size()));
    const std::uint32_t from = page_[item];
    std::uint32_t to = random.below(pages_ - 1);
    if (to >= from) ++to;
    work_ += 60;
    if (gather_chain(item, to)) apply(from, to);
  }
}

bool AssignSearch::reach(Bytes goal, std::uint64_t work, Bytes heat, Random& random) {
  if (pages_ < 2 || page_.empty()) return best_sum_ <= goal;
  const std::uint64_t limit = work_ + work;
  place_caps(goal, random);
  std::uint32_t step = 0;
  while (excess_ > 0 && work_ < limit) {
    if (++step % 32 == 0) {
      hand_over_cap(heat, random);
      continue;
    }
    const std::uint32_t item = pick_item(random);
    const std::uint32_t from = page_[item];
    std::uint32_t to = random.below(pages_ - 1);
    if (to >= from) ++to;
    work_ += 30;
    if (!gather_chain(item, to)) continue;
    const Load rise = evaluate(from, to);
    if (rise > 0 && static_cast<Bytes>(rise) > random.exponential(heat)) continue;
    apply(from, to);
    excess_ += rise;
  }
  if (excess_ == 0) note_best();
  return excess_ == 0;
}

}  // namespace berth::plan::detail
