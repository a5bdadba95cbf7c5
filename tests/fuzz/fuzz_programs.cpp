// SPDX-License-Identifier: Apache-2.0
//
// fuzz_programs: runs random programs on a runtime and on a serial oracle. A failure is shrunk and
// printed as C++. The last line is "N passed, M failed". Exit code 0 if none failed, 1 if some did,
// 2 for bad usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <random>
#include <string>

#include "berth/berth.hpp"
#include "planted_bugs.hpp"
#include "run_program.hpp"
#include "runtime_options.hpp"

namespace {

using berth::fuzz::Program;
using berth::fuzz::Sizes;

/// Lowered limits bring every edge within reach of small tensors.
berth::ConnectOptions lowered(berth::ConnectOptions options, const Sizes& sizes) {
  options.limits.offset_alignment = sizes.alignment_words * berth::Bytes{4};
  options.limits.max_binding_bytes = sizes.binding_words * berth::Bytes{4};
  options.limits.max_page_bytes = sizes.page_words * berth::Bytes{4};
  return options;
}

void print_failure(std::uint64_t seed, const std::string& why, const Program& program,
                   const std::string& shrunk_why) {
  std::printf("seed %llu: %s\nshrunk to %zu operations: %s\n%s\n",
              static_cast<unsigned long long>(seed), why.c_str(), program.size(),
              shrunk_why.c_str(), berth::fuzz::to_cpp(program).c_str());
}

struct Fuzzer {
  berth::ConnectOptions options;
  berth::fuzz::Bug bug = berth::fuzz::Bug::none;
  Sizes sizes{};

  [[nodiscard]] berth::Client connect() const { return berth::fuzz::connect_with(bug, options); }

  /// On a client of its own, so that nothing but the program matters.
  [[nodiscard]] std::optional<std::string> alone(const Program& program) const {
    berth::Client client = connect();
    return run_program(client, program, sizes);
  }

  void report(std::uint64_t seed, const std::string& why, const Program& program) const {
    if (!alone(program)) {
      std::printf("seed %llu: %s\n(only after the programs before it; alone it passes)\n",
                  static_cast<unsigned long long>(seed), why.c_str());
      return;
    }
    const Program small = berth::fuzz::shrink(
        program, [this](const Program& part) { return alone(part).has_value(); });
    print_failure(seed, why, small, alone(small).value_or("?"));
  }
};

int run(int argc, char** argv) {
  CLI::App app{"Random programs on a runtime beside a serial oracle"};
  berth::tools::RuntimeOptions runtime;
  runtime.add_to(app);
  std::uint64_t programs = 1000;
  std::uint64_t seed = 1;
  std::string bug = "none";
  app.add_option("--programs", programs, "how many")->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "of the first one; 0 = a fresh one, which is printed");
  app.add_option("--plant", bug, "a known bug that must be found");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (seed == 0) seed = std::random_device{}();
  Fuzzer fuzzer;
  fuzzer.bug = berth::fuzz::bug_named(bug);
  fuzzer.options = lowered(runtime.connect_options(), fuzzer.sizes);
  if (fuzzer.bug != berth::fuzz::Bug::none) fuzzer.options.check = berth::Check::never;
  std::printf("%llu programs from seed %llu\n", static_cast<unsigned long long>(programs),
              static_cast<unsigned long long>(seed));
  std::uint64_t failed = 0;
  std::optional<berth::Client> client = fuzzer.connect();
  constexpr std::uint64_t kMostReported = 3;
  for (std::uint64_t i = 0; i < programs; ++i) {
    const Program program = berth::fuzz::generate(seed + i, fuzzer.sizes);
    const auto wrong = run_program(*client, program, fuzzer.sizes);
    if (!wrong) continue;
    client.reset();
    if (failed++ < kMostReported) fuzzer.report(seed + i, *wrong, program);
    client = fuzzer.connect();
  }
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(programs - failed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_programs: %s\n", error.what());
    return 2;
  }
}
