// SPDX-License-Identifier: Apache-2.0
//
// example_seed_case [--runtime R] [--policy P] [--webgpu LIBRARY] [--flush 0..7]
// Runs the case with a flush at the given points (1 after empty + 2 after zeros + 4 after custom;
// all eight sums if none is given), checks the numbers and tells what it took.
#include "seed_case/seed_case.hpp"

#include <iostream>

#include "exit_code.hpp"
#include "runtime_options.hpp"

namespace {

int run(int argc, const char* const* argv) {
  CLI::App app{"The case that asked for deferred allocation"};
  berth::tools::RuntimeOptions runtime;
  runtime.add_to(app);
  std::vector<unsigned> flush_points = {0, 1, 2, 3, 4, 5, 6, 7};
  app.add_option("--flush", flush_points, "1 after empty + 2 after zeros + 4 after custom (all)")
      ->check(CLI::Range(0U, unsigned{seed_case::kAllPoints}));
  if (const auto code = berth::tools::parse(app, argc, argv)) return *code;
  for (const unsigned points : flush_points) {
    berth::Client client = runtime.connect();
    const std::vector<float> out = seed_case::run(client, points);
    bool right = out.size() == seed_case::kCount;
    for (std::size_t i = 0; i < out.size(); ++i) right = right && out[i] == seed_case::expected(i);
    const berth::Report report = client.report();
    std::cout << "flush " << points << ": " << (right ? "right" : "WRONG") << "; " << report.windows
              << " windows, " << report.relocations << " relocations\n";
    if (!right) return berth::tools::kFailed;
  }
  return berth::tools::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return berth::tools::exit_code_of([&] { return run(argc, argv); });
}
