// SPDX-License-Identifier: Apache-2.0
//
// The whole model on each runtime: 200 sentences against the float64 reference of
// tests/examples/data, and what must hold of memory between two runs of one shape.
#include "minilm/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "berth_build_paths.hpp"
#include "minilm/npy.hpp"
#include "minilm/text_input.hpp"
#include "minilm/wordpiece.hpp"

namespace minilm {
namespace {

using Ids = std::vector<std::vector<std::uint32_t>>;

struct Device {
  std::string name;
  std::string runtime;
  std::string library;
  std::string icd;  // the Vulkan driver; empty = the machine's own
};

std::vector<Device> devices() {
  using namespace berth::build_paths;
  return {{"reference", "reference", "", ""},
          {"reference_strict", "reference-strict", "", ""},
          {"wgpu_native_lavapipe", "wgpu", std::string(kWgpuNative), ""},
          {"dawn_swiftshader", "wgpu", std::string(kDawn), std::string(kSwiftShaderIcd)}};
}

std::filesystem::path data(const char* name) {
  return std::filesystem::path(berth::build_paths::kSourceDir) / "tests/examples/data" / name;
}
std::filesystem::path model(const char* name) {
  return std::filesystem::path(berth::build_paths::kMiniLm) / name;
}

class Model : public testing::TestWithParam<Device> {
 protected:
  // The Vulkan loader reads the variable whenever an instance is made.
  void SetUp() override {
    if (!GetParam().icd.empty()) ::setenv("VK_ICD_FILENAMES", GetParam().icd.c_str(), 1);
  }
  void TearDown() override {
    if (!GetParam().icd.empty()) ::unsetenv("VK_ICD_FILENAMES");
  }

  static berth::Client connect() {
    berth::ConnectOptions options;
    options.runtime = GetParam().runtime;
    options.webgpu.library = GetParam().library;
    return berth::connect(options);
  }
  static Embedder make_embedder(const berth::Client& client) {
    return {client, SafeTensors::open(model("model.safetensors"))};
  }
};

TEST_P(Model, EmbedsTwoHundredSentencesLikeTheFloat64Reference) {
  const auto tokenizer = WordPiece::load(model("vocab.txt"));
  Ids ids;
  for (const std::string& sentence : read_sentences(data("sentences_200.txt"))) {
    ids.push_back(tokenizer.encode(sentence));
  }
  const Matrix expected = read_npy(data("embeddings_200.npy"));
  ASSERT_EQ(expected.rows, ids.size());
  ASSERT_EQ(expected.columns, kHidden);

  std::size_t last_progress = 0;
  const std::vector<Embedding> embeddings = make_embedder(connect()).embed(
      ids, {.on_progress = [&](std::size_t done) { last_progress = done; }});
  ASSERT_EQ(embeddings.size(), ids.size());
  double worst = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    for (std::size_t i = 0; i < kHidden; ++i) {
      const double error = std::abs(embeddings[row][i] - expected.values[row * kHidden + i]);
      if (!(error <= worst)) worst = error;  // NaN too
    }
  }
  EXPECT_LT(worst, 2e-5);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2e", worst);
  RecordProperty("largest_error", text.data());
  EXPECT_EQ(last_progress, ids.size());
}

TEST_P(Model, ASecondRunOfOneShapeMakesNoPage) {
  const berth::Client client = connect();
  Embedder embedder = make_embedder(client);
  const Ids ids(3, {101, 2023, 2003, 1037, 3231, 102});
  const std::vector<Embedding> first = embedder.embed(ids);
  const std::uint64_t pages = client.report().pages_made;
  EXPECT_EQ(embedder.embed(ids), first);
  EXPECT_EQ(client.report().pages_made, pages);
}

INSTANTIATE_TEST_SUITE_P(Devices, Model, testing::ValuesIn(devices()),
                         [](const auto& device) { return device.param.name; });

TEST(ModelInput, IsRefusedWithValueAndLimit) {
  berth::ConnectOptions options;
  options.runtime = "reference";
  Embedder embedder(berth::connect(options), SafeTensors::open(model("model.safetensors")));
  const auto message = [&](const Ids& ids, const EmbedOptions& embed_options = {}) -> std::string {
    try {
      static_cast<void>(embedder.embed(ids, embed_options));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(embedder.embed({}), testing::IsEmpty());
  EXPECT_EQ(message({{101, 102}, {}}), "Sentence 1 has 0 tokens; the model takes 1 to 512.");
  EXPECT_EQ(message({std::vector<std::uint32_t>(513, 5)}),
            "Sentence 0 has 513 tokens; the model takes 1 to 512.");
  EXPECT_EQ(message({{101, 30'522, 102}}),
            "Sentence 0 holds the id 30522; the vocabulary has 30522 tokens.");
  EXPECT_EQ(message({{101, 102}}, {.token_budget = 0}),
            "A token budget of 0 is not between 1 and 32768.");
}

}  // namespace
}  // namespace minilm
