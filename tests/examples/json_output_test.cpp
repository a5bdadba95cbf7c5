// SPDX-License-Identifier: Apache-2.0
//
// The JSON file, read back by another parser.
#include "minilm/json_output.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "minilm/input_error.hpp"
#include "temporary_folder.hpp"

namespace minilm {
namespace {

using std::string_view_literals::operator""sv;

const std::vector<std::uint32_t> kIds = {101, 7592, 102};
const std::vector<float> kEmbedding = {0.1F,
                                       -0.0F,
                                       1e-30F,
                                       std::numeric_limits<float>::max(),
                                       std::numeric_limits<float>::denorm_min(),
                                       1.0F / 3.0F};

TEST(JsonOutput, ReadsBackAsTheSameValues) {
  const TemporaryFolder folder;
  const std::vector<EmbeddedSentence> sentences = {{"Hello", kIds, kEmbedding}, {"x", {}, {}}};
  write_json(folder / "a.json", sentences);
  const auto json = nlohmann::json::parse(file_bytes(folder / "a.json"));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0].size(), 3U);
  EXPECT_EQ(json[0]["text"], "Hello");
  EXPECT_EQ(json[0]["ids"].get<std::vector<std::uint32_t>>(), kIds);
  EXPECT_EQ(json[0]["embedding"].get<std::vector<float>>(), kEmbedding);
  EXPECT_TRUE(json[1]["embedding"].empty());
  EXPECT_EQ(folder.count(), 1);
}

TEST(JsonOutput, EscapesWhatJsonMustEscape) {
  const TemporaryFolder folder;
  const std::string_view text = "\"\\/\b\f\n\r\t\0\x1f\x7f é 漢 😀 \u2028"sv;
  const std::vector<EmbeddedSentence> sentences = {{text, kIds, kEmbedding}};
  write_json(folder / "a.json", sentences);
  EXPECT_EQ(nlohmann::json::parse(file_bytes(folder / "a.json"))[0]["text"], text);
}

TEST(JsonOutput, WritesAnEmptyList) {
  const TemporaryFolder folder;
  write_json(folder / "a.json", {});
  EXPECT_TRUE(nlohmann::json::parse(file_bytes(folder / "a.json")).empty());
}

TEST(JsonOutput, RefusesWhatJsonCannotSayAndWritesNothing) {
  const TemporaryFolder folder;
  const std::vector<float> infinite = {0.0F, std::numeric_limits<float>::infinity()};
  const std::vector<EmbeddedSentence> bad_value = {{"x", kIds, kEmbedding}, {"x", kIds, infinite}};
  const std::vector<EmbeddedSentence> bad_text = {{"a\xFF", kIds, kEmbedding}};
  EXPECT_THROW(write_json(folder / "a.json", bad_value), OutputError);
  EXPECT_THROW(write_json(folder / "a.json", bad_text), InputError);
  EXPECT_EQ(folder.count(), 0);
  EXPECT_THROW(write_json(folder / "none/a.json", {}), OutputError);
}

}  // namespace
}  // namespace minilm
