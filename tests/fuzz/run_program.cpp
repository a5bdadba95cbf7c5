// SPDX-License-Identifier: Apache-2.0
#include "run_program.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "fuzz_kernels.hpp"
#include "oracle.hpp"

namespace berth::fuzz {

namespace {

class Run {
 public:
  Run(Client& client, const Sizes& sizes) : client_(client), oracle_(sizes), handles_(kTensors) {
    streams_.push_back(client.stream());
    for (std::uint32_t s = 1; s < kStreams; ++s) streams_.push_back(client.make_stream());
  }

  std::optional<std::string> all(const Program& program) {
    try {
      for (std::size_t i = 0; i < program.size() && !wrong_; ++i) one(program[i], i);
      for (Stream& stream : streams_) stream.flush();
      finish();
    } catch (const Error& error) {
      wrong_ = std::string("the library threw ") + name_of(error.code()) + ": " + error.what();
    }
    for (Stream& stream : streams_) stream.discard();
    return wrong_;
  }

 private:
  void one(const Operation& o, std::size_t index) {
    const Verdict verdict = oracle_.run(o);
    if (verdict == Verdict::skipped) return;
    if (verdict == Verdict::runs) {
      act(o, index);
      return;
    }
    try {
      act(o, index);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::too_large) return;
      throw;
    }
    wrong_ =
        "operation " + std::to_string(index) + " binds more than the limit and was not refused.";
  }

  Slice part(const Part& p) const {
    return handles_[p.tensor].slice(Bytes{p.first} * 4, Bytes{p.words} * 4);
  }
  static Part as_long_as(Part p, const Part& like) {
    p.words = like.words;
    return p;
  }

  void act(const Operation& o, std::size_t index) {
    Stream& stream = streams_[o.stream];
    switch (o.verb) {
      case Verb::empty:
        handles_[o.a.tensor] = client_.empty(Bytes{o.a.words} * 4);
        break;
      case Verb::zeros:
        handles_[o.a.tensor] = client_.empty(Bytes{o.a.words} * 4);
        stream.fill(handles_[o.a.tensor], 0);
        break;
      case Verb::create:
        handles_[o.a.tensor] = client_.empty(Bytes{o.a.words} * 4);
        upload(stream, {o.a.tensor, 0, o.a.words}, o.value);
        break;
      case Verb::upload:
        upload(stream, o.a, o.value);
        break;
      case Verb::fill:
        stream.fill(part(o.a), o.value);
        break;
      case Verb::copy:
        stream.copy(part(o.a), part(as_long_as(o.b, o.a)));
        break;
      case Verb::counts: {
        const std::uint32_t groups = o.value % 2 == 0 ? 0 : (o.c.words + 63) / 64;
        const std::array<std::uint32_t, 3> counts = {groups, 1, 1};
        stream.upload(part({o.a.tensor, o.a.first, 3}), std::span<const std::uint32_t>(counts));
        break;
      }
      case Verb::read:
        reads_.push_back({stream.read<std::uint32_t>(part(o.a)), oracle_.last_read(), index});
        if (o.value % 2 == 0) compare_reads();
        break;
      case Verb::drop:
        handles_[o.a.tensor] = {};
        break;
      case Verb::alias:
        handles_[o.b.tensor] = handles_[o.a.tensor];
        break;
      case Verb::flush:
        stream.flush();
        break;
      case Verb::step:
        stream.step_end();
        break;
      case Verb::sync:
        stream.sync();
        compare_reads();
        break;
      default:
        launch(stream, o);
        break;
    }
  }

  void upload(Stream& stream, const Part& target, std::uint32_t value) {
    const std::vector<std::uint32_t> words = made_words(value, target.words);
    stream.upload(part(target), std::span<const std::uint32_t>(words));
  }

  void launch(Stream& stream, const Operation& o) {
    const auto uniforms = [&](std::uint32_t n) { return FuzzUniforms{o.value, n}; };
    const auto grid = [](std::uint32_t n) { return cover(n, 64); };
    const std::uint32_t n = o.verb == Verb::add || o.verb == Verb::fork               ? o.c.words
                            : o.verb == Verb::increment || o.verb == Verb::accumulate ? o.b.words
                                                                                      : o.a.words;
    const Slice a = part({o.a.tensor, o.a.first, n});
    // Handing over means the whole tensor.
    const bool whole = a.range() == Range{0, handles_[o.a.tensor].bytes()};
    std::vector<Binding> bindings;
    if (o.move_a && whole) {
      bindings.emplace_back(std::move(handles_[o.a.tensor]));  // null only once the launch succeeds
    } else {
      bindings.emplace_back(a);
    }
    const Slice b = parts_like(o.b, n);
    const Slice c = parts_like(o.c, o.verb == Verb::gated ? 3 : n);
    switch (o.verb) {
      case Verb::add:
        bindings.emplace_back(b);
        bindings.emplace_back(c);
        stream.launch(add_kernel(), grid(n), bindings, uniforms(n));
        break;
      case Verb::increment:
        bindings.emplace_back(b);
        stream.launch(increment_kernel(), grid(n), bindings, uniforms(n));
        break;
      case Verb::fork:
        bindings.emplace_back(b);
        bindings.emplace_back(c);
        stream.launch(fork_kernel(), grid(n), bindings, uniforms(n));
        break;
      case Verb::scatter:
        stream.launch(scatter_kernel(), grid(n), bindings, uniforms(n));
        break;
      case Verb::accumulate:
        bindings.emplace_back(b);
        stream.launch(accumulate_kernel(), grid(n), bindings, uniforms(n));
        break;
      default:
        stream.launch_indirect(gated_kernel(), c, bindings, uniforms(n));
        break;
    }
    if (o.move_a) handles_[o.a.tensor] = {};
  }

  /// Operations that do not use the part leave it anywhere.
  Slice parts_like(const Part& p, std::uint32_t words) const {
    if (!handles_[p.tensor] || Bytes{p.first + words} * 4 > handles_[p.tensor].bytes()) {
      return {Handle{}, {0, 0}};
    }
    return part({p.tensor, p.first, words});
  }

  void compare_reads() {
    for (Pending& read : reads_) compare(read.result.get(), read.expected, read.operation);
    reads_.clear();
  }

  void compare(const std::vector<std::uint32_t>& got, const Words& expected,
               std::size_t operation) {
    if (wrong_) return;
    if (got.size() != expected.size()) {
      wrong_ = "operation " + std::to_string(operation) + " read " + std::to_string(got.size()) +
               " words instead of " + std::to_string(expected.size()) + ".";
      return;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!expected[i] || got[i] == *expected[i]) continue;
      wrong_ = "operation " + std::to_string(operation) + " read " + std::to_string(got[i]) +
               " at word " + std::to_string(i) + "; the oracle has " +
               std::to_string(*expected[i]) + ".";
      return;
    }
  }

  // Reads what is left, tensors with undefined words too: those words may be anything.
  void finish() {
    compare_reads();
    for (std::uint32_t name = 0; name < kTensors && !wrong_; ++name) {
      if (!handles_[name] || handles_[name].bytes() == 0) continue;
      Operation read;
      read.verb = Verb::read;
      read.a = {name, 0, oracle_.words_of(name)};
      if (oracle_.run(read) != Verdict::runs) continue;
      compare(client_.read<std::uint32_t>(handles_[name]).get(), oracle_.last_read(),
              100000 + name);
    }
  }

  struct Pending {
    Readback<std::uint32_t> result;
    Words expected;
    std::size_t operation;
  };

  Client& client_;
  Oracle oracle_;
  std::vector<Handle> handles_;
  std::vector<Stream> streams_;
  std::vector<Pending> reads_;
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> run_program(Client& client, const Program& program, const Sizes& sizes) {
  return Run(client, sizes).all(program);
}

}  // namespace berth::fuzz
