// SPDX-License-Identifier: Apache-2.0
//
// `berth embed` from outside: results where they belong; for bad input exit code 2, for any other
// failure 1, and one sentence on standard error, with nothing written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth_build_paths.hpp"
#include "examples/temporary_folder.hpp"
#include "minilm/npy.hpp"
#include "spawned_program.hpp"

namespace berth::test {
namespace {

using minilm::TemporaryFolder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

Outcome berth_program(const Words& arguments, const std::string& input = {},
                      const Words& environment = {}) {
  Words all = {std::string(build_paths::kBinaryDir) + "/berth"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(all, input, environment);
}

// The runtime that is there on every machine.
Outcome embed(Words arguments, const std::string& input = {}) {
  arguments.insert(arguments.begin(), {"embed", "--runtime", "reference"});
  return berth_program(arguments, input);
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// One sentence: a line that ends with a full stop.
auto one_sentence(const std::string& part) {
  return AllOf(StartsWith("berth: "), EndsWith(".\n"), HasSubstr(part));
}

void expect_refused(const Outcome& outcome, const std::string& part, int code = 2) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_THAT(outcome.err, one_sentence(part));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(EmbedProgram, PrintsRuntimeSimilaritiesTimeAndMemory) {
  const Outcome outcome =
      embed({"A ship in the harbour.", "The vessel is moored.", "A cat sleeps."});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("runtime reference"), HasSubstr("cosine similarity"),
                    HasSubstr("1.000"), HasSubstr("tokens/s"), HasSubstr("lower bound")));
}

TEST(EmbedProgram, WritesTextsIdsAndEmbeddingsAsJsonAndNpy) {
  const TemporaryFolder folder;
  const Outcome outcome =
      embed({"--json", folder / "out.json", "--npy", folder / "out.npy", "--file", "-"},
            "hello world\n\n\xC3\xA4 \"b\"\r\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto list = nlohmann::json::parse(contents_of(folder / "out.json"));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["text"], "hello world");
  EXPECT_EQ(list[0]["ids"], (std::vector<int>{101, 7592, 2088, 102}));
  EXPECT_EQ(list[1]["text"], "\xC3\xA4 \"b\"");
  const minilm::Matrix matrix = minilm::read_npy(folder / "out.npy");
  EXPECT_EQ(matrix.rows, 2U);
  EXPECT_EQ(matrix.columns, 384U);
  EXPECT_EQ(list[1]["embedding"].get<std::vector<float>>(),
            std::vector<float>(matrix.values.begin() + 384, matrix.values.end()));
}

TEST(EmbedProgram, KeepsStandardOutputForAResultThatGoesThere) {
  const Outcome outcome = embed({"--json", "-", "one", "two"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).size(), 2U);
  EXPECT_THAT(outcome.err, HasSubstr("cosine similarity"));
}

TEST(EmbedProgram, TakesASentenceThatIsNamedLikeACommand) {
  const Outcome outcome = embed({"--json", "-", "plan"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"plan\""));
}

TEST(EmbedProgram, AnswersTheSameUnderEveryPolicy) {
  const std::string window = embed({"--json", "-", "one sentence", "two"}).out;
  for (const char* policy : {"per_task", "exclusive"}) {
    const Outcome outcome = embed({"--policy", policy, "--json", "-", "one sentence", "two"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, window) << policy;
  }
}

TEST(EmbedProgram, HelpsAndTellsItsVersion) {
  EXPECT_THAT(berth_program({"--version"}).out, StartsWith("berth 0."));
  const Outcome help = berth_program({"embed", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("--runtime"), HasSubstr("--policy"), HasSubstr("--webgpu")));
}

TEST(EmbedProgram, RefusesACommandLineThatCannotBeMeant) {
  for (const Words& arguments :
       {Words{}, Words{"embed", "--nonsense"}, Words{"nonsense"},
        Words{"embed", "--policy", "best", "a"}, Words{"embed", "--json"}}) {
    const Outcome outcome = berth_program(arguments);
    EXPECT_EQ(outcome.code, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  expect_refused(embed({}), "nothing to embed");
  expect_refused(embed({"--file", "x.txt", "sentence"}), "1 sentences beside --file");
  expect_refused(embed({"--json", "x", "--npy", "x", "a"}), "both name 'x'");
  expect_refused(embed({"--webgpu", "x.so", "a"}), "--runtime is 'reference'");
  expect_refused(berth_program({"embed", "--runtime", "abacus", "a"}), "abacus");
}

TEST(EmbedProgram, RefusesTextThatIsMissingEmptyOrNotUtf8) {
  const TemporaryFolder folder;
  write(folder / "empty.txt", "\n\n");
  write(folder / "latin1.txt", "good\nbad \xE4\n");
  const Words out = {"--json", folder / "out.json", "--file"};
  const auto with = [&](const std::string& file) {
    Words arguments = out;
    arguments.push_back(file);
    return arguments;
  };
  expect_refused(embed(with(folder / "none.txt")), "none.txt");
  expect_refused(embed(with(folder / "empty.txt")), "empty.txt");
  expect_refused(embed(with(folder / "latin1.txt")), "0xE4");
  expect_refused(embed(with((folder / "").parent_path())), "Is a directory");
  expect_refused(embed({"good", "bad \xE4"}), "0xE4");
  expect_refused(embed({""}), "empty");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.json"));
  EXPECT_EQ(folder.count(), 2);
}

TEST(EmbedProgram, RefusesAModelThatIsMissingCutOrLying) {
  const TemporaryFolder folder;
  const std::string path = (folder / "").parent_path();
  expect_refused(embed({"--model", path, "a"}), "make setup");
  std::filesystem::copy(std::filesystem::path(build_paths::kMiniLm) / "vocab.txt",
                        folder / "vocab.txt");
  const auto with_weights = [&](const std::string& bytes) {
    write(folder / "model.safetensors", bytes);
    return embed({"--model", path, "--json", folder / "out.json", "a"});
  };
  expect_refused(with_weights(""), "model.safetensors");
  expect_refused(with_weights(std::string("\xFF\xFF\xFF\0\0\0\0\0{}", 10)), "model.safetensors");
  expect_refused(with_weights(std::string("\x02\0\0\0\0\0\0\0{}", 10)),
                 "embeddings.word_embeddings.weight");
  EXPECT_EQ(folder.count(), 2);
}

TEST(EmbedProgram, RefusesAWebGpuLibraryThatIsNotThereOrIsNone) {
  expect_refused(berth_program({"embed", "--webgpu", "/nowhere/libwebgpu.so", "a"}),
                 "/nowhere/libwebgpu.so");
  expect_refused(berth_program({"embed", "--webgpu", "libm.so.6", "a"}), "libm.so.6");
}

TEST(EmbedProgram, FailsWithOneSentenceWithoutAnAdapter) {
  expect_refused(
      berth_program({"embed", "--runtime", "wgpu", "a"}, {},
                    {"VK_ICD_FILENAMES=/nowhere/icd.json", "VK_DRIVER_FILES=/nowhere/icd.json"}),
      "adapter", 1);
}

TEST(EmbedProgram, WritesNothingWhereItCannot) {
  const TemporaryFolder folder;
  expect_refused(embed({"--json", folder / "none" / "out.json", "a"}), "out.json", 1);
  write(folder / "old.json", "old");
  expect_refused(embed({"--json", folder / "old.json", "--npy", folder / "none" / "out.npy", "a"}),
                 "out.npy", 1);
  EXPECT_EQ(contents_of(folder / "old.json"), "old");
  EXPECT_EQ(folder.count(), 1);
}

TEST(InfoProgram, NamesEveryRuntimeOrWhyItIsNotThere) {
  const Outcome outcome = berth_program({"info"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("wgpu"), HasSubstr("reference-strict"),
                                 HasSubstr(std::string(build_paths::kDawn))));
}

}  // namespace
}  // namespace berth::test
