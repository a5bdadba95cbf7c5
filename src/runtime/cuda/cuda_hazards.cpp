// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_hazards.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <unordered_map>

namespace berth::runtime::cuda {

namespace {

constexpr std::size_t kMostReduced = 8192;  // 8 MiB of bits

using Commands = std::vector<std::uint32_t>;

/// The last accesses to each byte of a page, as disjoint segments.
class PageHistory {
 public:
  void access(Range range, bool written, std::uint32_t command, Commands& waits_for) {
    split(range.offset);
    split(range.end());
    fill_gaps(range);
    const auto first = segments_.find(range.offset);
    const auto last = segments_.lower_bound(range.end());
    for (auto it = first; it != last; ++it) {
      Segment& segment = it->second;
      // Readers waited for the writer, so a writer that waits for them waits for it too.
      if (written && !segment.readers.empty()) {
        waits_for.insert(waits_for.end(), segment.readers.begin(), segment.readers.end());
      } else if (segment.writer) {
        waits_for.push_back(*segment.writer);
      }
      if (!written && (segment.readers.empty() || segment.readers.back() != command)) {
        segment.readers.push_back(command);
      }
    }
    if (!written) return;
    segments_.erase(first, last);
    segments_.emplace(range.offset, Segment{range.end(), command, {}});
  }

 private:
  struct Segment {
    Bytes end = 0;
    std::optional<std::uint32_t> writer;
    Commands readers;
  };

  /// Makes `at` a border between segments if it lies inside one.
  void split(Bytes at) {
    auto after = segments_.upper_bound(at);
    if (after == segments_.begin()) return;
    auto& [begin, segment] = *std::prev(after);
    if (begin == at || segment.end <= at) return;
    Segment right = segment;
    segment.end = at;
    segments_.emplace_hint(after, at, std::move(right));
  }

  void fill_gaps(Range range) {
    Bytes at = range.offset;
    for (auto it = segments_.lower_bound(at); at < range.end(); ++it) {
      const Bytes next = it == segments_.end() ? range.end() : std::min(it->first, range.end());
      if (at < next) segments_.emplace_hint(it, at, Segment{next, std::nullopt, {}});
      if (it == segments_.end()) return;
      at = it->second.end;
    }
  }

  std::map<Bytes, Segment> segments_;  // by begin
};

/// Drops what another dependency waits for already.
class Reducer {
 public:
  explicit Reducer(std::size_t commands) : words_((commands + 63) / 64) {}

  /// `waits_for`: of the next command, ascending.
  void reduce(Commands& waits_for) {
    const std::size_t base = ancestors_.size();
    ancestors_.resize(base + words_);
    Commands kept;
    for (const std::uint32_t earlier : std::views::reverse(waits_for)) {
      if (((ancestors_[base + earlier / 64] >> (earlier % 64)) & 1U) != 0) continue;
      kept.push_back(earlier);
      for (std::size_t w = 0; w < words_; ++w) {
        ancestors_[base + w] |= ancestors_[earlier * words_ + w];
      }
      ancestors_[base + earlier / 64] |= std::uint64_t{1} << (earlier % 64);
    }
    std::ranges::reverse(kept);
    waits_for = std::move(kept);
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> ancestors_;  // a row of bits per command so far
};

}  // namespace

std::vector<std::vector<std::uint32_t>> dependencies_of(const plan::Program& program,
                                                        std::span<const memory::PageHandle> pages) {
  std::unordered_map<std::uint64_t, PageHistory> histories;
  std::vector<Commands> out(program.commands.size());
  std::optional<Reducer> reducer;
  if (out.size() <= kMostReduced) reducer.emplace(out.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const plan::Command& command = program.commands[i];
    Commands& waits_for = out[i];
    const auto bindings =
        std::span(program.bindings).subspan(command.first_binding, command.binding_count);
    for (const plan::ProgramBinding& binding : bindings) {
      if (binding.bytes == 0) continue;
      histories[pages[binding.page.index()].value].access({binding.offset, binding.bytes},
                                                          writes(binding.access), i, waits_for);
    }
    std::ranges::sort(waits_for);
    const auto same = std::ranges::unique(waits_for);
    waits_for.erase(same.begin(), same.end());
    std::erase(waits_for, i);  // a command that uses a range twice does not wait for itself
    if (reducer) reducer->reduce(waits_for);
  }
  return out;
}

}  // namespace berth::runtime::cuda
