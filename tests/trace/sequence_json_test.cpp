// SPDX-License-Identifier: Apache-2.0
//
// Sequences of windows that share long-lived tensors.
#include "trace/sequence_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "berth/error.hpp"
#include "berth_build_paths.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLoop = R"({"name": "loop", "alignment": 4,
  "tensors": [{"id": 0, "bytes": 8, "held": true}, {"id": 1, "bytes": 4}],
  "windows": [{"name": "init", "tasks": [{"reads": [], "writes": [0]}]},
              {"name": "step", "tasks": [{"reads": [0], "writes": [1]},
                                         {"reads": [0, 1], "writes": [0]}]}],
  "steps": [0, 1, 1]})";

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_sequence_json(text, "loop.json"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SequenceJson, ReadsWindowsThatShareTensors) {
  const Sequence loop = read_sequence_json(kLoop, "loop.json");
  EXPECT_EQ(loop.name, "loop");
  EXPECT_THAT(loop.held, ElementsAre(true, false));
  ASSERT_EQ(loop.windows.size(), 2U);
  EXPECT_EQ(loop.windows[1].name, "step");
  EXPECT_EQ(loop.windows[1].tasks.size(), 2U);
  EXPECT_THAT(loop.steps, ElementsAre(0, 1, 1));
}

TEST(SequenceJson, KnowsWhatComesInAndWhatStays) {
  const Sequence loop = read_sequence_json(kLoop, "loop.json");
  const plan::Problem first = to_problem(loop, 0);
  EXPECT_FALSE(first.versions[0].incoming);
  EXPECT_TRUE(first.versions[0].outlives);
  const plan::Problem second = to_problem(loop, 1);
  EXPECT_TRUE(second.versions[0].incoming);
  EXPECT_EQ(second.versions[0].pool, kHeldPool);
  EXPECT_EQ(second.versions[1].pool, kTransientPool);
  EXPECT_FALSE(second.versions[1].outlives);
}

TEST(SequenceJson, RefusesWhatIsNoSequence) {
  const std::string loop = kLoop;
  EXPECT_THAT(refusal("[]"), HasSubstr("\"windows\""));
  EXPECT_THAT(refusal(replaced(loop, "\"steps\"", "\"order\"")), HasSubstr("\"steps\""));
  EXPECT_THAT(refusal(replaced(loop, "[0, 1, 1]", "[0, 2]")),
              HasSubstr("step 1 must be the index"));
  EXPECT_THAT(refusal(replaced(loop, "true", "1")), HasSubstr("must be true or false"));
  EXPECT_THAT(refusal(replaced(loop, "\"reads\": [0, 1]", "\"reads\": [0, 7]")),
              HasSubstr("names the tensor 7"));
  EXPECT_THAT(refusal(replaced(loop, "\"tasks\"", "\"work\"")), HasSubstr("\"tasks\""));
}

TEST(SequenceJson, ReadsEveryCommittedSequence) {
  for (const char* name :
       {"training_transformer", "training_resnet", "training_unet", "inference", "diffusion"}) {
    const std::string path =
        std::string(build_paths::kSourceDir) + "/tests/data/windows/" + name + ".json";
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream),
                           std::istreambuf_iterator<char>()};
    const Sequence sequence = read_sequence_json(text, path);
    EXPECT_EQ(sequence.name, name);
    EXPECT_GE(sequence.steps.size(), 13U);
  }
}

}  // namespace
}  // namespace berth::trace
