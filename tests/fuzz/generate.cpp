// SPDX-License-Identifier: Apache-2.0
//
// Draws programs. The oracle runs along, so that most operations are valid; sizes lie around every
// edge. Uses its own arithmetic on a 64-bit generator: the standard's distributions differ between
// libraries.
#include <algorithm>
#include <array>
#include <random>

#include "fuzz_program.hpp"
#include "oracle.hpp"

namespace berth::fuzz {

std::vector<std::uint32_t> made_words(std::uint32_t value, std::uint32_t words) {
  std::vector<std::uint32_t> out(words);
  for (std::uint32_t i = 0; i < words; ++i) out[i] = value * 2654435761U + i * 40503U;
  return out;
}

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const Sizes& sizes)
      : random_(seed), sizes_(sizes), oracle_(sizes) {}

  Program draw() {
    const std::uint32_t wanted = 5 + below(56);
    // Most programs keep to one stream; sizes of one kind make reuse of memory likely.
    streams_ = below(3) == 0 ? kStreams : 1;
    common_words_ = edge_size();
    while (program_.size() < wanted) {
      Operation operation = draw_operation();
      const Verdict verdict = oracle_.run(operation);
      if (verdict == Verdict::skipped && below(16) != 0) continue;
      program_.push_back(operation);
    }
    return std::move(program_);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() >> 33U) % n; }

  std::uint32_t edge_size() {
    const std::uint32_t a = sizes_.alignment_words;
    const std::array<std::uint32_t, 14> edges = {0,
                                                 1,
                                                 2,
                                                 3,
                                                 a - 1,
                                                 a,
                                                 a + 1,
                                                 2 * a,
                                                 3 * a + 1,
                                                 16 * a,
                                                 sizes_.binding_words - 1,
                                                 sizes_.binding_words,
                                                 sizes_.binding_words + 1,
                                                 sizes_.page_words};
    const std::uint32_t pick = below(40);
    if (pick < edges.size()) return edges[pick];
    return 1 + below(6 * a);
  }

  std::uint32_t any_tensor() { return below(kTensors); }
  std::uint32_t live_tensor() {
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t name = any_tensor();
      if (oracle_.holds(name)) return name;
    }
    return any_tensor();
  }

  /// A whole tensor mostly; else a slice, aligned or not.
  Part any_part(std::uint32_t name) {
    const std::uint32_t words = oracle_.words_of(name);
    if (words == 0 || below(3) != 0) return {name, 0, words};
    std::uint32_t first = below(words);
    if (below(2) == 0) first -= first % sizes_.alignment_words;
    const std::uint32_t rest = words - first;
    return {name, first, below(3) == 0 ? rest : 1 + below(rest)};
  }

  /// A part of as many words as `like`, if that tensor has them.
  Part part_like(const Part& like) {
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t name = live_tensor();
      const std::uint32_t words = oracle_.words_of(name);
      if (words < like.words) continue;
      std::uint32_t first = below(2) == 0 ? 0 : below(words - like.words + 1);
      if (below(2) == 0) first -= first % sizes_.alignment_words;
      return {name, first, like.words};
    }
    return {like.tensor, like.first, like.words};
  }

  Operation draw_operation() {
    Operation o;
    o.stream = below(streams_);
    o.value = 1 + below(1000);
    const std::uint32_t dice = below(100);
    if (dice < 16) return draw_tensor(o, dice);
    o.a = any_part(live_tensor());
    if (dice < 62) return draw_launch(o, dice);
    if (dice < 67) {
      o.verb = Verb::upload;
    } else if (dice < 71) {
      o.verb = Verb::fill;
      if (below(2) == 0) o.value = 0;
    } else if (dice < 77) {
      o.verb = Verb::copy;
      o.b = part_like(o.a);
    } else if (dice < 83) {
      o.verb = Verb::read;
    } else if (dice < 89) {
      o.verb = Verb::drop;
    } else if (dice < 91) {
      o.verb = Verb::alias;
      o.b.tensor = any_tensor();
    } else if (dice < 95) {
      o.verb = Verb::flush;
    } else if (dice < 98) {
      o.verb = Verb::step;
    } else {
      o.verb = Verb::sync;
    }
    return o;
  }

  Operation draw_tensor(Operation o, std::uint32_t dice) {
    o.verb = dice < 6 ? Verb::empty : dice < 9 ? Verb::zeros : Verb::create;
    o.a = {any_tensor(), 0, below(2) == 0 ? common_words_ : edge_size()};
    return o;
  }

  Operation draw_launch(Operation o, std::uint32_t dice) {
    if (dice < 30) {
      o.verb = Verb::add;
      o.b = below(6) == 0 ? o.a : part_like(o.a);
      o.c = target_for(o.a);
    } else if (dice < 40) {
      o.verb = Verb::increment;
      o.b = target_for(o.a);
    } else if (dice < 45) {
      o.verb = Verb::fork;
      o.b = target_for(o.a);
      o.c = target_for(o.a);
    } else if (dice < 51) {
      o.verb = Verb::scatter;
    } else if (dice < 56) {
      o.verb = Verb::accumulate;
      o.b = part_like(o.a);
    } else if (dice < 59) {
      o.verb = Verb::gated;
      o.c = part_like({o.a.tensor, 0, 3});
    } else {
      o.verb = Verb::counts;
      o.c.words = below(200);
      return o;
    }
    o.move_a = below(4) == 0;
    return o;
  }

  /// What a launch writes: an existing tensor of the right size, or a new one made for it.
  Part target_for(const Part& like) {
    if (below(3) != 0) return part_like(like);
    Operation fresh;
    fresh.verb = Verb::empty;
    fresh.a = {any_tensor(), 0, like.words};
    if (fresh.a.tensor == like.tensor) return part_like(like);
    static_cast<void>(oracle_.run(fresh));
    program_.push_back(fresh);
    return fresh.a;
  }

  std::mt19937_64 random_;
  Sizes sizes_;
  Oracle oracle_;
  Program program_;
  std::uint32_t streams_ = 1;
  std::uint32_t common_words_ = 64;
};

}  // namespace

Program generate(std::uint64_t seed, const Sizes& sizes) { return Generator(seed, sizes).draw(); }

}  // namespace berth::fuzz
