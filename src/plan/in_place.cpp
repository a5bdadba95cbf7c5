// SPDX-License-Identifier: Apache-2.0
#include "plan/in_place.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace berth::plan::detail {
namespace {

std::span<const Use> uses_of(const Problem& problem, const Task& task) {
  return {problem.uses.data() + task.first_use, task.use_count};
}

const Use* only_use(const Problem& problem, const Task& task, VersionId version) {
  const Use* found = nullptr;
  for (const Use& use : uses_of(problem, task)) {
    if (use.version != version) continue;
    if (found != nullptr) return nullptr;
    found = &use;
  }
  return found;
}

bool allowed(const Problem& problem, const Window& window, const InPlacePair& pair) {
  const Version& in = problem.versions[pair.input.index()];
  const Version& out = problem.versions[pair.output.index()];
  const Task& task = problem.tasks[pair.task.index()];
  if (pair.input == pair.output || in.bytes != out.bytes || in.bytes == 0 || in.pool != out.pool ||
      task.promoted || in.outlives || out.incoming) {
    return false;
  }
  if (out.fixed && in.fixed != out.fixed) return false;
  if (in.fixed && !out.fixed && in.fixed->offset % window.alignment[pair.output.index()] != 0) {
    return false;
  }
  const std::uint32_t at = window.position[pair.task.index()];
  if (window.lives[pair.input.index()].end != at + 1 ||
      window.lives[pair.output.index()].start != at) {
    return false;
  }
  const Use* read = only_use(problem, task, pair.input);
  const Use* write = only_use(problem, task, pair.output);
  return read != nullptr && write != nullptr && read->access == Access::read &&
         write->access == Access::write && read->range == Range{0, in.bytes} &&
         write->range == Range{0, out.bytes};
}

/// A version in `task` that was given a place by its input, and now breaks the rule with another
/// version that has a place; kNone if there is none.
std::uint32_t misfit(const Problem& problem, const Window& window,
                     const std::vector<std::uint32_t>& source, const Task& task) {
  for (const Use& a : uses_of(problem, task)) {
    const std::uint32_t v = a.version.value;
    const Place& place = window.given[v];
    if (!place.page.valid() || problem.versions[v].fixed) continue;
    for (const Use& b : uses_of(problem, task)) {
      const std::uint32_t w = b.version.value;
      if (w == v || window.given[w].page != place.page || source[v] == w || source[w] == v)
        continue;
      // Two written versions may share a page, but rounding is left out of it: keep them apart.
      if (task.promoted || writes(a.access) || writes(b.access)) return v;
    }
  }
  return kNone;
}

/// Takes pairs choice by choice: code exists for all pairs of a task's choice together.
class Taker {
 public:
  Taker(const Problem& problem, Window& window, InPlace in_place)
      : problem_(problem), window_(window), in_place_(in_place) {
    const std::size_t count = problem.versions.size();
    source_.assign(count, kNone);
    heir_.assign(count, kNone);
    pair_of_.assign(count, kNone);
  }

  std::vector<std::uint32_t> run() {
    // Links of a chain come in the order of their tasks, so an input's place is known by then.
    TaskId done;
    for (const Choice& choice : choices()) {
      const TaskId task = problem_.in_place[choice.pairs.front()].task;
      if (task == done || !can_take(choice)) continue;
      for (const std::uint32_t i : choice.pairs) take(i);
      done = task;
    }
    if (inherited_) drop_misfits();
    for (std::size_t v = 0; v < source_.size(); ++v) {
      if (source_[v] != kNone) window_.taken.push_back(pair_of_[v]);
    }
    std::sort(window_.taken.begin(), window_.taken.end());
    return std::move(source_);
  }

 private:
  struct Choice {
    std::uint32_t position = 0;
    Bytes saved = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        rank;  ///< by use, so that ids play no role
    std::vector<std::uint32_t> pairs;
  };

  /// The choices whose pairs are all allowed; of one task, what saves most comes first.
  std::vector<Choice> choices() const {
    std::vector<std::uint32_t> index(problem_.in_place.size());
    std::iota(index.begin(), index.end(), 0);
    const auto key = [&](std::uint32_t i) {
      const InPlacePair& pair = problem_.in_place[i];
      return std::tuple(pair.task, pair.choice, i);
    };
    std::sort(index.begin(), index.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < index.size();) {
      const InPlacePair& first = problem_.in_place[index[i]];
      Choice choice;
      choice.position = window_.position[first.task.index()];
      bool fine = true;
      bool both_fixed = false;
      for (; i < index.size(); ++i) {
        const InPlacePair& pair = problem_.in_place[index[i]];
        if (pair.task != first.task || pair.choice != first.choice) break;
        fine = fine && allowed(problem_, window_, pair);
        if (!fine) continue;
        const Version& output = problem_.versions[pair.output.index()];
        both_fixed = both_fixed || output.fixed.has_value();
        choice.saved += output.bytes;
        choice.rank.emplace_back(use_index(pair.task, pair.input),
                                 use_index(pair.task, pair.output));
        choice.pairs.push_back(index[i]);
      }
      if (!fine || (in_place_ == InPlace::leave && !both_fixed)) continue;
      std::sort(choice.rank.begin(), choice.rank.end());
      choices.push_back(std::move(choice));
    }
    std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return std::tie(a.position, b.saved, a.rank) < std::tie(b.position, a.saved, b.rank);
    });
    return choices;
  }

  std::uint32_t use_index(TaskId task, VersionId version) const {
    const Use* const use = only_use(problem_, problem_.tasks[task.index()], version);
    return static_cast<std::uint32_t>(use - problem_.uses.data());
  }

  bool can_take(const Choice& choice) const {
    std::vector<std::uint32_t> seen;
    for (const std::uint32_t i : choice.pairs) {
      const InPlacePair& pair = problem_.in_place[i];
      const Place& place = window_.given[pair.input.index()];
      const Version& output = problem_.versions[pair.output.index()];
      if (source_[pair.output.index()] != kNone || heir_[pair.input.index()] != kNone) return false;
      if (place.page.valid() && place.offset % window_.alignment[pair.output.index()] != 0) {
        return false;
      }
      if (output.fixed && place != *output.fixed) return false;
      for (const std::uint32_t v : {pair.input.value, pair.output.value}) {
        if (std::find(seen.begin(), seen.end(), v) != seen.end()) return false;
        seen.push_back(v);
      }
    }
    return true;
  }

  void take(std::uint32_t i) {
    const InPlacePair& pair = problem_.in_place[i];
    source_[pair.output.index()] = pair.input.value;
    heir_[pair.input.index()] = pair.output.value;
    pair_of_[pair.output.index()] = i;
    const Place& place = window_.given[pair.input.index()];
    if (!place.page.valid() || problem_.versions[pair.output.index()].fixed) return;
    window_.given[pair.output.index()] = place;
    inherited_ = true;
  }

  /// Outputs of given inputs take their place only where that breaks no rule.
  void drop_misfits() {
    bool again = true;
    while (again) {
      again = false;
      for (const Task& task : problem_.tasks) {
        const std::uint32_t v = misfit(problem_, window_, source_, task);
        if (v == kNone) continue;
        again = true;
        drop(problem_.in_place[pair_of_[v]].task);
      }
    }
  }

  /// Gives up all pairs of a task, and those behind them that only held because of them.
  void drop(TaskId task) {
    for (std::uint32_t v = 0; v < source_.size(); ++v) {
      if (source_[v] == kNone || problem_.in_place[pair_of_[v]].task != task) continue;
      heir_[source_[v]] = kNone;
      source_[v] = kNone;
      for (std::uint32_t link = v; link != kNone; link = heir_[link]) {
        if (problem_.versions[link].fixed) {
          if (source_[link] != kNone) drop(problem_.in_place[pair_of_[link]].task);
          break;
        }
        window_.given[link] = {};
      }
    }
  }

  const Problem& problem_;
  Window& window_;
  InPlace in_place_;
  std::vector<std::uint32_t> source_;
  std::vector<std::uint32_t> heir_;
  std::vector<std::uint32_t> pair_of_;  ///< per version: the pair that it is the output of
  bool inherited_ = false;
};

}  // namespace

std::vector<std::uint32_t> take_pairs(const Problem& problem, Window& window, InPlace in_place) {
  window.given.assign(problem.versions.size(), {});
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (problem.versions[v].fixed) window.given[v] = *problem.versions[v].fixed;
  }
  return Taker(problem, window, in_place).run();
}

}  // namespace berth::plan::detail
