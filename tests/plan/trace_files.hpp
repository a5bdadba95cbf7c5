// SPDX-License-Identifier: Apache-2.0
//
// The windows and lifetimes of tests/data as problems. For tests of the planner.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "berth/plan/problem.hpp"
#include "berth_build_paths.hpp"
#include "trace/lifetimes_csv.hpp"
#include "trace/window_json.hpp"

namespace berth::plan::files {

inline std::string read(const std::string& name) {
  const std::string path = std::string(build_paths::kSourceDir) + "/tests/data/" + name;
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline Problem window(const std::string& name) {
  const std::string file = "traces/" + name + ".json";
  return berth::trace::to_problem(berth::trace::read_window_json(read(file), file));
}

inline Problem lifetimes(const std::string& file) {
  return berth::trace::to_problem(berth::trace::read_lifetimes_csv(read(file), file));
}

}  // namespace berth::plan::files
