// SPDX-License-Identifier: Apache-2.0
#include "plan/window.hpp"

#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "plan/in_place.hpp"

namespace berth::plan::detail {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::span<const Use> uses_of(const Problem& problem, const Task& task) {
  return {problem.uses.data() + task.first_use, task.use_count};
}

/// Promoted tasks bind all their uses read_write, but for the arguments of an indirect dispatch.
bool is_writable(const Task& task, const Use& use) {
  return writes(use.access) || (task.promoted && !use.argument);
}

std::string name(const char* what, std::uint32_t id) {
  return std::string(what) + " " + std::to_string(id);
}

/// Groups versions into items of pools, in the order of their first use in the program.
class Grouping {
 public:
  Grouping(const Problem& problem, Window& window, const std::vector<std::uint32_t>& source)
      : problem_(problem), window_(window) {
    const std::size_t count = problem.versions.size();
    window.pool_of.assign(count, kNone);
    window.item_of.assign(count, kNone);
    for (const Task& task : problem.tasks) {
      for (const Use& use : uses_of(problem, task)) add(use.version.value, source);
    }
  }

 private:
  void add(std::uint32_t v, const std::vector<std::uint32_t>& source) {
    if (!placeable(v)) return;
    // A chain is added from its head, so that each link finds its predecessor's item.
    chain_.assign(1, v);
    while (source[chain_.back()] != kNone && placeable(source[chain_.back()])) {
      chain_.push_back(source[chain_.back()]);
    }
    for (std::size_t i = chain_.size(); i-- > 0;) {
      const std::uint32_t link = chain_[i];
      const Version& version = problem_.versions[link];
      const Life life = window_.lives[link];
      if (source[link] == kNone) {
        const std::uint32_t pool = pool_index(version.pool);
        window_.pool_of[link] = pool;
        window_.item_of[link] = static_cast<std::uint32_t>(window_.pools[pool].items.size());
        const Bytes alignment = window_.alignment[link];
        window_.pools[pool].items.push_back(
            {align_up(version.bytes, alignment), version.bytes, alignment, life.start, life.end});
        continue;
      }
      const std::uint32_t pool = window_.pool_of[source[link]];
      const std::uint32_t item = window_.item_of[source[link]];
      window_.pool_of[link] = pool;
      window_.item_of[link] = item;
      Item& whole = window_.pools[pool].items[item];
      whole.alignment = std::max(whole.alignment, window_.alignment[link]);
      whole.size = align_up(whole.bytes, whole.alignment);
      whole.end = life.end;
    }
  }

  bool placeable(std::uint32_t v) const {
    return window_.pool_of[v] == kNone && !window_.given[v].page.valid() &&
           problem_.versions[v].bytes != 0;
  }

  std::uint32_t pool_index(PoolId pool) {
    if (!window_.pools.empty() && window_.pools[last_].pool == pool) return last_;
    const auto [it, fresh] =
        pools_.try_emplace(pool, static_cast<std::uint32_t>(window_.pools.size()));
    if (fresh) {
      window_.pools.emplace_back();
      window_.pools.back().pool = pool;
    }
    return last_ = it->second;
  }

  const Problem& problem_;
  Window& window_;
  std::map<PoolId, std::uint32_t> pools_;
  std::vector<std::uint32_t> chain_;
  std::uint32_t last_ = 0;
};

/// Walks the tasks and collects who may not share a page with whom.
class Conflicts {
 public:
  Conflicts(const Problem& problem, Window& window, const std::vector<std::uint32_t>& bin_of,
            const std::vector<std::uint32_t>& source)
      : problem_(problem), window_(window), bin_of_(bin_of), source_(source) {
    pairs_.resize(window.pools.size());
    blocked_.resize(window.pools.size());
    for (std::uint32_t t = 0; t < problem.tasks.size(); ++t) visit(t);
    for (std::size_t p = 0; p < window.pools.size(); ++p) {
      const std::size_t items = window.pools[p].items.size();
      window.pools[p].conflicts = Graph(items, std::move(pairs_[p]));
      window.pools[p].blocked = Graph(items, std::move(blocked_[p]));
    }
  }

 private:
  void visit(std::uint32_t t) {
    if (problem_.device.binding_alignment > 1) check_bindings(t);
    if (!problem_.device.exclusion || problem_.tasks[t].use_count < 2) return;
    exclude(t);
    if (problem_.tasks[t].promoted || problem_.device.binding_alignment > 1) round_apart(t);
  }

  /// Bindings start at multiples of the device's alignment; see alignments_of().
  void check_bindings(std::uint32_t t) {
    for (const Use& use : uses_of(problem_, problem_.tasks[t])) {
      if (use.any_offset || use.range.empty()) continue;
      const Place& place = window_.given[use.version.index()];
      const Bytes base = place.page.valid() ? place.offset : 0;
      if ((base + use.range.offset) % problem_.device.binding_alignment == 0) continue;
      fail("Task " + std::to_string(t) + " binds " + name("version", use.version.value) +
           " from offset " + std::to_string(base + use.range.offset) +
           " on, which is no multiple of the binding alignment " +
           std::to_string(problem_.device.binding_alignment) + "; repair() can bounce it.");
    }
  }

  void exclude(std::uint32_t t) {
    const Task& task = problem_.tasks[t];
    written_.clear();
    read_.clear();
    for (const Use& use : uses_of(problem_, task)) {
      if (use.range.empty()) continue;
      (is_writable(task, use) ? written_ : read_).push_back(use.version.value);
    }
    for (const std::uint32_t w : written_) {
      for (const std::uint32_t r : read_) {
        if (w == r) {
          fail("Task " + std::to_string(t) + " reads one range and writes another one of " +
               name("version", w) + ", which is one page; repair() can part them.");
        } else {
          part(t, w, r, "reads");
        }
      }
    }
  }

  /// Writable ranges of one page may not meet after their offsets are rounded down. Only versions
  /// that both lack the alignment can, if they are disjoint: those go on different pages.
  void round_apart(std::uint32_t t) {
    const Task& task = problem_.tasks[t];
    const auto uses = uses_of(problem_, task);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].range.empty() || !is_writable(task, uses[i])) continue;
      for (std::size_t j = 0; j < i; ++j) {
        if (uses[j].range.empty() || !is_writable(task, uses[j])) continue;
        round_apart(t, uses[j], uses[i]);
      }
    }
  }

  void round_apart(std::uint32_t t, const Use& x, const Use& y) {
    const Bytes alignment = problem_.device.binding_alignment;
    const std::uint32_t a = x.version.value;
    const std::uint32_t b = y.version.value;
    const Place& pa = window_.given[a];
    const Place& pb = window_.given[b];
    if (a != b && pa.page.valid() && pb.page.valid()) {
      if (pa.page != pb.page) return;
      const bool meet = meet_rounded({pa.offset + x.range.offset, x.range.bytes},
                                     {pb.offset + y.range.offset, y.range.bytes});
      if (meet && source_[a] != b && source_[b] != a) fail_rounding(t, a, b);
      return;
    }
    // Aligned versions are padded to their alignment, so nothing can round down into them.
    const auto aligned = [&](std::uint32_t v) {
      const Place& place = window_.given[v];
      return place.page.valid() ? (place.offset | problem_.versions[v].bytes) % alignment == 0
                                : window_.alignment[v] % alignment == 0;
    };
    if (a != b) {
      if (!aligned(a) && !aligned(b)) part(t, a, b, "writes");
      return;
    }
    if (pa.page.valid()) {
      if (meet_rounded({pa.offset + x.range.offset, x.range.bytes},
                       {pa.offset + y.range.offset, y.range.bytes})) {
        fail_rounding(t, a, b);
      }
      return;
    }
    // One version, two ranges: known if its offset is aligned, else they must be far apart.
    const Bytes first_end = std::min(x.range.end(), y.range.end());
    const Bytes second = std::max(x.range.offset, y.range.offset);
    const bool meet = aligned(a) ? meet_rounded(x.range, y.range)
                                 : second < first_end || second - first_end < alignment - 1;
    if (meet) fail_rounding(t, a, b);
  }

  bool meet_rounded(Range x, Range y) const {
    const Range& first = x.offset <= y.offset ? x : y;
    const Range& second = x.offset <= y.offset ? y : x;
    return align_down(second.offset, problem_.device.binding_alignment) < first.end();
  }

  void fail_rounding(std::uint32_t t, std::uint32_t a, std::uint32_t b) {
    fail("Task " + std::to_string(t) + " binds ranges of " + name("version", a) + " and " +
         name("version", b) +
         " of one page writable, and they meet after rounding to the binding alignment " +
         std::to_string(problem_.device.binding_alignment) + "; repair() can part them.");
  }

  /// Keeps a and b on different pages because task t writes a and uses b.
  void part(std::uint32_t t, std::uint32_t a, std::uint32_t b, const char* verb) {
    if (problem_.versions[a].pool != problem_.versions[b].pool || source_[a] == b ||
        source_[b] == a) {
      return;
    }
    const Place& pa = window_.given[a];
    const Place& pb = window_.given[b];
    if (pa.page.valid() && pb.page.valid()) {
      if (pa.page != pb.page) return;
      fail("Task " + std::to_string(t) + " writes " + name("version", a) + " and " + verb + " " +
           name("version", b) + ", which are both fixed on " + name("page", pa.page.value) +
           "; repair() can part them.");
    } else if (pa.page.valid() || pb.page.valid()) {
      const std::uint32_t item = pa.page.valid() ? b : a;
      const std::uint32_t bin = bin_of_[(pa.page.valid() ? pa : pb).page.index()];
      if (bin != kNone && window_.has_item(item)) {
        blocked_[window_.pool_of[item]].emplace_back(window_.item_of[item], bin);
      }
    } else if (window_.has_item(a) && window_.has_item(b)) {
      const std::uint32_t x = window_.item_of[a];
      const std::uint32_t y = window_.item_of[b];
      if (x == y) return;  // a chain in place
      pairs_[window_.pool_of[a]].emplace_back(x, y);
      pairs_[window_.pool_of[a]].emplace_back(y, x);
    }
  }

  void fail(std::string sentence) {
    if (!window_.unsolvable) window_.unsolvable = std::move(sentence);
  }

  const Problem& problem_;
  Window& window_;
  const std::vector<std::uint32_t>& bin_of_;
  const std::vector<std::uint32_t>& source_;
  std::vector<Pairs> pairs_;
  std::vector<Pairs> blocked_;
  std::vector<std::uint32_t> written_;
  std::vector<std::uint32_t> read_;
};

/// The lives of given versions on the bins. Their bytes are room for others before and after.
void add_given(const Problem& problem, Window& window, const std::vector<std::uint32_t>& bin_of) {
  std::map<PoolId, PoolProblem*> pools;
  for (PoolProblem& pool : window.pools) {
    pools.emplace(pool.pool, &pool);
    for (Bin& bin : pool.bins) bin.rooms = bin.free;
  }
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    const Version& version = problem.versions[v];
    const Place& place = window.given[v];
    if (!place.page.valid() || version.bytes == 0 || bin_of[place.page.index()] == kNone) continue;
    const auto pool = pools.find(version.pool);
    if (pool == pools.end()) continue;
    Bin& bin = pool->second->bins[bin_of[place.page.index()]];
    const Range range{place.offset, version.bytes};
    bin.rooms.push_back(range);
    Life life = window.lives[v];
    if (life.end == 0 && version.incoming && version.outlives) {
      life.end = static_cast<std::uint32_t>(problem.tasks.size());
    }
    if (life.end != 0) bin.blocks.push_back({range, life.start, life.end});
  }
  for (PoolProblem& pool : window.pools) {
    for (Bin& bin : pool.bins) {
      std::sort(bin.rooms.begin(), bin.rooms.end());
      std::sort(bin.blocks.begin(), bin.blocks.end(), [](const Block& a, const Block& b) {
        return std::tie(a.range, a.start, a.end) < std::tie(b.range, b.start, b.end);
      });
      std::vector<Range> joined;
      for (const Range& range : bin.rooms) {
        if (range.empty()) continue;
        if (joined.empty() || range.offset > joined.back().end()) {
          joined.push_back(range);
        } else {
          joined.back().bytes = std::max(joined.back().end(), range.end()) - joined.back().offset;
        }
      }
      bin.rooms = std::move(joined);
    }
  }
}

/// What each position touches, pool by pool.
void add_touches(const Problem& problem, Window& window, const std::vector<std::uint32_t>& bin_of) {
  std::map<PoolId, std::uint32_t> pool_of_bins;
  for (std::uint32_t k = 0; k < window.pools.size(); ++k) {
    pool_of_bins.emplace(window.pools[k].pool, k);
    window.pools[k].first_touch.reserve(problem.tasks.size() + 1);
  }
  for (const TaskId id : window.order) {
    for (PoolProblem& pool : window.pools) {
      pool.first_touch.push_back(static_cast<std::uint32_t>(pool.touches.size()));
    }
    const Task& task = problem.tasks[id.index()];
    for (const Use& use : uses_of(problem, task)) {
      const std::uint32_t v = use.version.value;
      if (use.range.empty()) continue;
      if (window.has_item(v)) {
        window.pools[window.pool_of[v]].touches.push_back(
            {window.item_of[v], is_writable(task, use)});
      } else if (window.given[v].page.valid() && bin_of[window.given[v].page.index()] != kNone) {
        PoolProblem& pool = window.pools[pool_of_bins.at(problem.versions[v].pool)];
        const auto items = static_cast<std::uint32_t>(pool.items.size());
        pool.touches.push_back(
            {items + bin_of[window.given[v].page.index()], is_writable(task, use)});
      }
    }
  }
  for (PoolProblem& pool : window.pools) {
    pool.first_touch.push_back(static_cast<std::uint32_t>(pool.touches.size()));
  }
}

/// Finds two fixed versions that share bytes while both live.
void check_fixed_overlaps(const Problem& problem, Window& window,
                          const std::vector<std::uint32_t>& source) {
  std::vector<std::uint32_t> fixed;
  for (std::uint32_t v = 0; v < problem.versions.size(); ++v) {
    if (!window.given[v].page.valid()) continue;
    if (problem.versions[v].bytes != 0 && window.lives[v].end != 0) fixed.push_back(v);
  }
  if (fixed.size() < 2) return;
  // An output that takes over its input lives from one task later on, as far as overlap goes.
  const auto from = [&](std::uint32_t v) {
    return window.lives[v].start + (source[v] != kNone ? 1 : 0);
  };
  const auto key = [&](std::uint32_t v) { return std::tuple(window.given[v].page, from(v), v); };
  std::sort(fixed.begin(), fixed.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::map<Bytes, std::uint32_t> live;  // by offset: versions that live and share no bytes
  using Death = std::pair<std::uint32_t, Bytes>;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> deaths;
  PageId page;
  for (const std::uint32_t v : fixed) {
    const Place place = window.given[v];
    if (place.page != page) {
      page = place.page;
      live.clear();
      deaths = {};
    }
    while (!deaths.empty() && deaths.top().first <= from(v)) {
      live.erase(deaths.top().second);
      deaths.pop();
    }
    auto after = live.lower_bound(place.offset);
    std::uint32_t rival = kNone;
    if (after != live.end() && after->first < place.offset + problem.versions[v].bytes) {
      rival = after->second;
    }
    if (rival == kNone && after != live.begin()) {
      --after;
      if (after->first + problem.versions[after->second].bytes > place.offset) {
        rival = after->second;
      }
    }
    if (rival != kNone) {
      window.unsolvable = "Versions " + std::to_string(rival) + " and " + std::to_string(v) +
                          " are fixed on bytes that they share on " +
                          name("page", place.page.value) + " while both live.";
      return;
    }
    if (window.lives[v].end <= from(v)) continue;
    live.emplace(place.offset, v);
    deaths.emplace(window.lives[v].end, place.offset);
  }
}

}  // namespace

std::vector<Life> lives_of(const Problem& problem, const std::vector<TaskId>& order) {
  std::vector<Life> lives(problem.versions.size());
  const auto tasks = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t position = 0; position < tasks; ++position) {
    for (const Use& use : uses_of(problem, problem.tasks[order[position].index()])) {
      Life& life = lives[use.version.index()];
      if (life.end == 0) life.start = position;
      life.end = position + 1;
    }
  }
  for (std::size_t v = 0; v < lives.size(); ++v) {
    if (lives[v].end == 0) continue;
    if (problem.versions[v].incoming) lives[v].start = 0;
    if (problem.versions[v].outlives) lives[v].end = tasks;
  }
  return lives;
}

namespace {

/// A version's own alignment, or that of its bindings if it is bound at its start by a use that has
/// to be aligned.
std::vector<Bytes> alignments_of(const Problem& problem) {
  std::vector<Bytes> alignment(problem.versions.size());
  for (std::size_t v = 0; v < alignment.size(); ++v) alignment[v] = problem.versions[v].alignment;
  if (problem.device.binding_alignment == 1) return alignment;
  for (const Use& use : problem.uses) {
    if (use.any_offset || use.range.empty()) continue;
    Bytes& own = alignment[use.version.index()];
    own = std::max(own, problem.device.binding_alignment);
  }
  return alignment;
}

}  // namespace

Window make_window(const Problem& problem, std::vector<TaskId> order, InPlace in_place) {
  Window window;
  window.order = std::move(order);
  window.position.resize(problem.tasks.size());
  for (std::uint32_t p = 0; p < window.order.size(); ++p) {
    window.position[window.order[p].index()] = p;
  }
  window.lives = lives_of(problem, window.order);
  window.alignment = alignments_of(problem);
  const std::vector<std::uint32_t> source = take_pairs(problem, window, in_place);
  const Grouping grouping(problem, window, source);

  std::vector<std::uint32_t> bin_of(problem.pages.size(), kNone);
  for (PoolProblem& pool : window.pools) {
    pool.positions = static_cast<std::uint32_t>(problem.tasks.size());
    pool.page_limit = std::min(problem.device.max_page_bytes, kMostPageBytes);
    pool.granularity = problem.device.page_granularity;
    pool.few_pages = std::max<std::uint32_t>(1, problem.goal.few_pages);
    pool.growth = problem.device.growth;
    for (std::uint32_t p = 0; p < problem.pages.size(); ++p) {
      const Page& page = problem.pages[p];
      if (page.pool != pool.pool) continue;
      bin_of[p] = static_cast<std::uint32_t>(pool.bins.size());
      Bin bin;
      bin.page = PageId{p};
      bin.bytes = bin.limit = page.bytes;
      bin.free = page.free;
      bin.idle = page.idle && !page.in_flight;
      if (pool.growth == Growth::extend && page.bytes < pool.page_limit) {
        bin.limit = pool.page_limit;
        if (!bin.free.empty() && bin.free.back().end() == page.bytes) {
          bin.free.back().bytes = bin.limit - bin.free.back().offset;
        } else {
          bin.free.push_back({page.bytes, bin.limit - page.bytes});
        }
      }
      pool.bins.push_back(std::move(bin));
    }
  }
  add_given(problem, window, bin_of);
  add_touches(problem, window, bin_of);
  const Conflicts conflicts(problem, window, bin_of, source);
  if (!window.unsolvable) check_fixed_overlaps(problem, window, source);
  return window;
}

}  // namespace berth::plan::detail
