// SPDX-License-Identifier: Apache-2.0
//
// The wgpu runtime never asks for a function that ends the process: seen at the border, by the
// names that a recorder was asked for. stubs_test.py proves that the list is the library's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "berth/client.hpp"
#include "berth_build_paths.hpp"
#include "support/wgpu_recorder.hpp"

namespace berth {
namespace {

std::set<std::string> listed_stubs() {
  std::ifstream file(std::string(build_paths::kSourceDir) + "/tests/stubs/stubs.txt");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') names.insert(line);
  }
  return names;
}

void expect_no_stub(std::string_view library, const char* backend) {
  test::Recorder recorder(library);
  {
    ConnectOptions options;
    options.runtime = "wgpu";
    options.webgpu.get_proc = test::Recorder::get_proc;
    options.webgpu.get_proc_user = &recorder;
    options.webgpu.backend = backend;
    Client client = connect(options);
    const Handle zeros = client.zeros(1024, {.label = "zeros"});
    EXPECT_EQ(client.read<float>(zeros).get().size(), 256U);
  }
  const std::vector<std::string> asked = recorder.names_looked_up();
  EXPECT_THAT(asked, testing::Contains("wgpuQueueSubmit"));
  const std::set<std::string> stubs = listed_stubs();
  ASSERT_GE(stubs.size(), 35U);
  for (const std::string& name : asked) {
    EXPECT_FALSE(stubs.contains(name)) << name << " ends the process in wgpu-native";
  }
}

TEST(Stubs, TheRuntimeAsksWgpuNativeForNone) { expect_no_stub(build_paths::kWgpuNative, ""); }

TEST(Stubs, TheRuntimeAsksDawnForNoneEither) { expect_no_stub(build_paths::kDawn, "null"); }

}  // namespace
}  // namespace berth
