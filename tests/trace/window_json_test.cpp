// SPDX-License-Identifier: Apache-2.0
//
// Windows as JSON: what is read, what is refused, and that writing gives back what was read.
#include "trace/window_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "berth/error.hpp"

namespace berth::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kChain = R"({"name": "chain", "alignment": 256,
  "tensors": [{"id": 7, "name": "x", "bytes": 24, "kind": "input"}, {"id": "y", "bytes": 512},
              {"id": 3, "bytes": 0}],
  "tasks": [{"name": "make", "reads": [], "writes": [7]},
            {"name": "add", "reads": [7, 7, "y"], "writes": ["y"]},
            {"reads": ["y"], "writes": [3]}]})";

/// The sentence with which a text is refused; empty if it is read.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_window_json(text, "window.json"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

std::string with_tensor(const std::string& tensor) {
  return R"({"tensors": [{"id": 0, "bytes": 4}, )" + tensor +
         R"(], "tasks": [{"reads": [0], "writes": [1]}]})";
}

std::string with_task(const std::string& task) {
  return R"({"tensors": [{"id": 0, "bytes": 4}, {"id": 1, "bytes": 4}], "tasks": [)" + task + "]}";
}

TEST(WindowJson, ReadsTensorsAndTasks) {
  const Window window = read_window_json(kChain, "chain.json");
  EXPECT_EQ(window.name, "chain");
  EXPECT_EQ(window.alignment, 256U);
  ASSERT_EQ(window.tensors.size(), 3U);
  EXPECT_EQ(window.tensors[0].id.id, "7");
  EXPECT_TRUE(window.tensors[0].id.numeric);
  EXPECT_EQ(window.tensors[0].kind, "input");
  EXPECT_EQ(window.tensors[1].id.id, "y");
  EXPECT_FALSE(window.tensors[1].id.numeric);
  ASSERT_EQ(window.tasks.size(), 3U);
  EXPECT_THAT(window.tasks[1].reads, ElementsAre(0, 1));
  EXPECT_THAT(window.tasks[1].writes, ElementsAre(1));
}

TEST(WindowJson, MakesOneUpdateOfATensorThatIsReadAndWritten) {
  const plan::Problem problem = to_problem(read_window_json(kChain, "chain.json"));
  ASSERT_EQ(problem.uses.size(), 5U);
  EXPECT_EQ(problem.uses[1].access, Access::read);
  EXPECT_EQ(problem.uses[1].version, plan::VersionId(0));
  EXPECT_EQ(problem.uses[2].access, Access::read_write);
  EXPECT_EQ(problem.uses[2].version, plan::VersionId(1));
  EXPECT_EQ(problem.tasks[1].use_count, 2U);
}

TEST(WindowJson, RoundsSizesToTheAlignment) {
  const plan::Problem problem = to_problem(read_window_json(kChain, "chain.json"));
  EXPECT_EQ(problem.versions[0].bytes, 256U);
  EXPECT_EQ(problem.versions[1].bytes, 512U);
  EXPECT_EQ(problem.versions[2].bytes, 0U);
}

TEST(WindowJson, GivesBackWhatItWrites) {
  const Window window = read_window_json(kChain, "chain.json");
  const std::string text = write_window_json(window);
  EXPECT_EQ(write_window_json(read_window_json(text, "again")), text);
  EXPECT_THAT(text, HasSubstr(R"("reads":[7,"y"])"));
}

TEST(WindowJson, ReadsAWindowOfNothing) {
  const Window window = read_window_json(R"({"tensors": [], "tasks": []})", "empty.json");
  EXPECT_EQ(window.alignment, 1U);
  EXPECT_TRUE(window.tensors.empty());
}

TEST(WindowJson, RefusesAnEmptyFile) {
  EXPECT_EQ(refusal(""), "window.json: the file is empty.");
  EXPECT_EQ(refusal(" \n"), "window.json: the file is empty.");
}

TEST(WindowJson, RefusesMalformedTextWithItsPlace) {
  EXPECT_THAT(refusal("{\"tensors\": [\n  {\"id\": }]}"), HasSubstr("line 2, column 10"));
  EXPECT_THAT(refusal(R"({"tensors": [)"), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal("{\"name\": \"\xff\", \"tensors\": [], \"tasks\": []}"), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a window is a JSON object, but this is a list"));
}

TEST(WindowJson, RefusesMissingAndWrongMembers) {
  EXPECT_THAT(refusal(R"({"tasks": []})"), HasSubstr("has no \"tensors\""));
  EXPECT_THAT(refusal(R"({"tensors": []})"), HasSubstr("has no \"tasks\""));
  EXPECT_THAT(refusal(R"({"tensors": 3, "tasks": []})"), HasSubstr("must be a list"));
  EXPECT_THAT(refusal(with_tensor(R"({"bytes": 4})")), HasSubstr("has no \"id\""));
  EXPECT_THAT(refusal(with_tensor(R"({"id": 1})")), HasSubstr("tensor 1 has no \"bytes\""));
  EXPECT_THAT(refusal(with_tensor("5")), HasSubstr("must be an object, but is the number 5"));
  EXPECT_THAT(refusal(with_task(R"({"reads": []})")), HasSubstr("task 0 has no \"writes\""));
  EXPECT_THAT(refusal(with_task(R"({"reads": 0, "writes": []})")), HasSubstr("must be a list"));
  EXPECT_THAT(refusal(R"({"name": 1, "tensors": [], "tasks": []})"), HasSubstr("be a string"));
}

TEST(WindowJson, RefusesBadSizesWithValueAndLimit) {
  for (const char* bytes :
       {"-4", "1.5", "1e30", "\"4\"", "null", "18446744073709551616", "9007199254740993"}) {
    const std::string sentence =
        refusal(with_tensor(std::string(R"({"id": 1, "bytes": )") + bytes + "}"));
    EXPECT_THAT(sentence, HasSubstr("the size of tensor 1")) << bytes;
    EXPECT_THAT(sentence, HasSubstr("9007199254740992")) << bytes;
  }
  EXPECT_THAT(refusal(with_tensor(R"({"id": 1, "bytes": 9007199254740992})")),
              HasSubstr("together"));
}

TEST(WindowJson, RefusesUnknownAndDoubleIds) {
  EXPECT_THAT(refusal(with_task(R"({"reads": [5], "writes": []})")),
              HasSubstr("task 0 (reads) names the tensor 5"));
  EXPECT_THAT(refusal(with_task(R"({"reads": [], "writes": ["0"]})")),
              HasSubstr("task 0 (writes) names the tensor \"0\""));
  EXPECT_THAT(refusal(with_task(R"({"reads": [[]], "writes": []})")), HasSubstr("a list"));
  EXPECT_THAT(refusal(with_tensor(R"({"id": 0, "bytes": 4})")), HasSubstr("names two tensors"));
  EXPECT_THAT(refusal(with_tensor(R"({"id": -1, "bytes": 4})")), HasSubstr("but is -1"));
  EXPECT_THAT(refusal(with_tensor(R"({"id": 1.5, "bytes": 4})")), HasSubstr("but is 1.5"));
}

TEST(WindowJson, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  for (const char* alignment : {"0", "3", "-256", "1.0", "\"256\"", "4294967296"}) {
    EXPECT_THAT(
        refusal(std::string(R"({"alignment": )") + alignment + R"(, "tensors": [], "tasks": []})"),
        HasSubstr("\"alignment\" must be a power of two"));
  }
}

TEST(WindowJson, CutsLongTextInAMessage) {
  const std::string id(5000, 'x');
  const std::string sentence = refusal(with_task(R"({"reads": [")" + id + R"("], "writes": []})"));
  EXPECT_LT(sentence.size(), 200U);
}

}  // namespace
}  // namespace berth::trace
