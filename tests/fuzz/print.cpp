// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "fuzz_program.hpp"

namespace berth::fuzz {

namespace {

std::string name(std::uint32_t tensor) { return "t" + std::to_string(tensor); }

std::string slice(const Part& p, std::uint32_t words) {
  return name(p.tensor) + ".slice(" + std::to_string(p.first) + " * 4, " + std::to_string(words) +
         " * 4)";
}

std::string launch(const Operation& o, const std::string& stream) {
  const auto line = [&](const char* kernel, std::uint32_t n, const std::string& bindings) {
    return stream + ".launch(fuzz::" + kernel + "_kernel(), cover(" + std::to_string(n) +
           ", 64), {" + bindings + "}, fuzz::FuzzUniforms{" + std::to_string(o.value) + ", " +
           std::to_string(n) + "});";
  };
  const auto a = [&](std::uint32_t n) {
    return o.move_a ? "/* whole, or a slice of it */ std::move(" + name(o.a.tensor) + ")"
                    : slice(o.a, n);
  };
  switch (o.verb) {
    case Verb::add:
      return line("add", o.c.words,
                  a(o.c.words) + ", " + slice(o.b, o.c.words) + ", " + slice(o.c, o.c.words));
    case Verb::increment:
      return line("increment", o.b.words, a(o.b.words) + ", " + slice(o.b, o.b.words));
    case Verb::fork:
      return line("fork", o.c.words,
                  a(o.c.words) + ", " + slice(o.b, o.c.words) + ", " + slice(o.c, o.c.words));
    case Verb::scatter:
      return line("scatter", o.a.words, a(o.a.words));
    case Verb::accumulate:
      return line("accumulate", o.b.words, a(o.b.words) + ", " + slice(o.b, o.b.words));
    default:
      return stream + ".launch_indirect(fuzz::gated_kernel(), " + slice(o.c, 3) + ", {" +
             a(o.a.words) + "}, fuzz::FuzzUniforms{" + std::to_string(o.value) + ", " +
             std::to_string(o.a.words) + "});";
  }
}

std::string words(std::uint32_t value, std::uint32_t count) {
  return "std::span<const std::uint32_t>(fuzz::made_words(" + std::to_string(value) + ", " +
         std::to_string(count) + "))";
}

std::string line(const Operation& o) {
  const std::string stream = "s" + std::to_string(o.stream);
  const std::string bytes = std::to_string(o.a.words) + " * 4";
  switch (o.verb) {
    case Verb::empty:
      return name(o.a.tensor) + " = client.empty(" + bytes + ");";
    case Verb::zeros:
      return name(o.a.tensor) + " = client.empty(" + bytes + "); " + stream + ".fill(" +
             name(o.a.tensor) + ", 0);";
    case Verb::create:
      return name(o.a.tensor) + " = client.empty(" + bytes + "); " + stream + ".upload(" +
             name(o.a.tensor) + ", " + words(o.value, o.a.words) + ");";
    case Verb::upload:
      return stream + ".upload(" + slice(o.a, o.a.words) + ", " + words(o.value, o.a.words) + ");";
    case Verb::fill:
      return stream + ".fill(" + slice(o.a, o.a.words) + ", " + std::to_string(o.value) + ");";
    case Verb::copy:
      return stream + ".copy(" + slice(o.a, o.a.words) + ", " + slice(o.b, o.a.words) + ");";
    case Verb::counts:
      return stream + ".upload(" + slice(o.a, 3) + ", counts(" +
             std::to_string(o.value % 2 == 0 ? 0 : (o.c.words + 63) / 64) + ", 1, 1));";
    case Verb::read:
      return "check(" + stream + ".read<std::uint32_t>(" + slice(o.a, o.a.words) + "));";
    case Verb::drop:
      return name(o.a.tensor) + " = {};";
    case Verb::alias:
      return name(o.b.tensor) + " = " + name(o.a.tensor) + ";";
    case Verb::flush:
      return stream + ".flush();";
    case Verb::step:
      return stream + ".step_end();";
    case Verb::sync:
      return stream + ".sync();";
    default:
      return launch(o, stream);
  }
}

}  // namespace

std::string to_cpp(const Program& program) {
  std::string out = "berth::Handle t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11;\n";
  out +=
      "berth::Stream s0 = client.stream(), s1 = client.make_stream(), s2 = client.make_stream();\n";
  for (const Operation& operation : program) out += line(operation) + "\n";
  return out;
}

}  // namespace berth::fuzz
