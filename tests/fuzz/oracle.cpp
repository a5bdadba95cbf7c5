// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <algorithm>

namespace berth::fuzz {

namespace {

using Word = std::optional<std::uint32_t>;

Word sum(const Word& x, const Word& y, std::uint32_t value) {
  return x && y ? Word(*x + *y + value) : std::nullopt;
}

bool meet(const Part& x, const Part& y) {
  return x.words != 0 && y.words != 0 && x.first < y.first + y.words && y.first < x.first + x.words;
}

}  // namespace

std::uint32_t Oracle::words_of(std::uint32_t name) const {
  return names_[name] ? static_cast<std::uint32_t>(names_[name]->words.size()) : 0;
}

bool Oracle::fits(const Part& part) const {
  return names_[part.tensor] != nullptr && part.first + part.words <= words_of(part.tensor);
}

bool Oracle::whole(const Part& part) const {
  return part.first == 0 && part.words == words_of(part.tensor);
}

bool Oracle::readable(const Part& part) const {
  if (!fits(part)) return false;
  const Words words = take(part);
  return std::ranges::all_of(words, [](const Word& w) { return w.has_value(); });
}

Words Oracle::take(const Part& part) const {
  const auto begin = names_[part.tensor]->words.begin() + part.first;
  return {begin, begin + part.words};
}

void Oracle::put(const Part& part, const Words& words) {
  Tensor& tensor = *names_[part.tensor];
  std::ranges::copy(words, tensor.words.begin() + part.first);
  tensor.contents = tensor.contents || part.words != 0;
}

// A whole write beside reads starts a new version; other overlaps with a writer are forbidden.
bool Oracle::allowed_together(const Use& x, const Use& y) const {
  if (names_[x.part.tensor] != names_[y.part.tensor]) return true;
  const bool writes_x = x.access != Use::Access::read;
  const bool writes_y = y.access != Use::Access::read;
  if (!writes_x && !writes_y) return true;
  const bool renames_x = x.access == Use::Access::write && whole(x.part) && !writes_y;
  const bool renames_y = y.access == Use::Access::write && whole(y.part) && !writes_x;
  return renames_x || renames_y || !meet(x.part, y.part);
}

Verdict Oracle::judge(const std::vector<Use>& uses) const {
  bool too_large = false;
  bool writes = false;
  for (const Use& use : uses) {
    if (!fits(use.part)) return Verdict::skipped;
    // Contents that nobody wrote are undefined: no program of ours reads them.
    if (use.access != Use::Access::write && !readable(use.part)) return Verdict::skipped;
    too_large = too_large || use.part.words > sizes_.binding_words;
    writes = writes || (use.access != Use::Access::read && use.part.words != 0);
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!allowed_together(uses[i], uses[j])) return Verdict::skipped;
    }
  }
  if (too_large) return Verdict::refused_too_large;
  return writes ? Verdict::runs : Verdict::skipped;
}

Verdict Oracle::launch(const Operation& o) {
  using Access = Use::Access;
  Part a = o.a;
  Part b = o.b;
  Part c = o.c;
  std::vector<Use> uses;
  switch (o.verb) {
    case Verb::add:
      a.words = b.words = c.words;
      uses = {{a, Access::read}, {b, Access::read}, {c, Access::write}};
      break;
    case Verb::increment:
      a.words = b.words;
      uses = {{a, Access::read}, {b, Access::write}};
      break;
    case Verb::fork:
      a.words = b.words = c.words;
      uses = {{a, Access::read}, {b, Access::write}, {c, Access::write}};
      break;
    case Verb::scatter:
      uses = {{a, Access::read_write}};
      break;
    case Verb::accumulate:
      a.words = b.words;
      uses = {{a, Access::read}, {b, Access::read_write}};
      break;
    case Verb::gated:
      c.words = 3;
      uses = {{a, Access::read_write}, {c, Access::read}};
      break;
    default:
      return Verdict::skipped;
  }
  const Verdict verdict = judge(uses);
  if (verdict != Verdict::runs) return verdict;
  const Words x = take(a);
  if (o.verb == Verb::gated) {
    // Counts may be any words; those that would keep a device busy for hours are not tried.
    std::uint64_t groups = 1;
    for (const Word& count : take(c))
      groups = *count > 256 ? 257 : std::min<std::uint64_t>(groups * *count, 257);
    if (groups > 256) return Verdict::skipped;
  }
  switch (o.verb) {
    case Verb::add: {
      const Words y = take(b);
      Words out;
      for (std::size_t i = 0; i < x.size(); ++i) out.push_back(sum(x[i], y[i], o.value));
      put(c, out);
      break;
    }
    case Verb::increment: {
      Words out;
      for (const Word& w : x) out.push_back(sum(w, 0U, o.value));
      put(b, out);
      break;
    }
    case Verb::fork: {
      Words plus;
      Words exclusive;
      for (const Word& w : x) {
        plus.push_back(sum(w, 0U, o.value));
        exclusive.push_back(w ? Word(*w ^ o.value) : std::nullopt);
      }
      put(b, plus);
      put(c, exclusive);
      break;
    }
    case Verb::scatter: {
      Words out = x;
      for (std::size_t i = 0; i < out.size(); i += 3) out[i] = sum(out[i], 0U, o.value);
      put(a, out);
      break;
    }
    case Verb::accumulate: {
      const Words y = take(b);
      Words out;
      for (std::size_t i = 0; i < x.size(); ++i) out.push_back(sum(x[i], y[i], 0));
      put(b, out);
      break;
    }
    default: {  // gated: the counts decide whether it runs at all
      const Words counts = take(c);
      if (*counts[0] == 0 || *counts[1] == 0 || *counts[2] == 0) break;
      const std::uint64_t covered = std::uint64_t{*counts[0]} * *counts[1] * *counts[2] * 64;
      Words out = x;
      for (std::size_t i = 0; i < out.size() && i < covered; ++i) out[i] = sum(out[i], 0U, o.value);
      put(a, out);
      break;
    }
  }
  return Verdict::runs;
}

Verdict Oracle::make(const Operation& o) {
  auto tensor = std::make_shared<Tensor>();
  tensor->words.resize(o.a.words);
  if (o.verb == Verb::zeros) std::ranges::fill(tensor->words, 0U);
  if (o.verb == Verb::create) {
    const auto words = made_words(o.value, o.a.words);
    tensor->words.assign(words.begin(), words.end());
  }
  tensor->contents = o.verb != Verb::empty;
  names_[o.a.tensor] = std::move(tensor);
  return Verdict::runs;
}

Verdict Oracle::run(const Operation& o) {
  switch (o.verb) {
    case Verb::empty:
    case Verb::zeros:
    case Verb::create:
      return make(o);
    case Verb::upload: {
      if (!fits(o.a)) return Verdict::skipped;
      const auto words = made_words(o.value, o.a.words);
      put(o.a, {words.begin(), words.end()});
      return Verdict::runs;
    }
    case Verb::fill:
      // A fill that is not zero is a kernel: it binds what it fills.
      if (!fits(o.a)) return Verdict::skipped;
      if (o.value != 0 && o.a.words > sizes_.binding_words) return Verdict::refused_too_large;
      put(o.a, Words(o.a.words, o.value));
      return Verdict::runs;
    case Verb::copy: {
      Part target = o.b;
      target.words = o.a.words;
      if (!readable(o.a) || !fits(target)) return Verdict::skipped;
      put(target, take(o.a));
      return Verdict::runs;
    }
    case Verb::counts: {
      Part target = o.a;
      target.words = 3;
      if (!fits(target)) return Verdict::skipped;
      const std::uint32_t groups = o.value % 2 == 0 ? 0 : (o.c.words + 63) / 64;
      put(target, {groups, 1U, 1U});
      return Verdict::runs;
    }
    case Verb::read:
      if (!readable(o.a)) return Verdict::skipped;
      last_read_ = take(o.a);
      return Verdict::runs;
    case Verb::drop:
      if (names_[o.a.tensor] == nullptr) return Verdict::skipped;
      names_[o.a.tensor].reset();
      return Verdict::runs;
    case Verb::alias:
      if (names_[o.a.tensor] == nullptr || o.a.tensor == o.b.tensor) return Verdict::skipped;
      names_[o.b.tensor] = names_[o.a.tensor];
      return Verdict::runs;
    case Verb::flush:
    case Verb::step:
    case Verb::sync:
      return Verdict::runs;
    default: {
      const Verdict verdict = launch(o);
      if (verdict == Verdict::runs && o.move_a) names_[o.a.tensor].reset();
      return verdict;
    }
  }
}

}  // namespace berth::fuzz
