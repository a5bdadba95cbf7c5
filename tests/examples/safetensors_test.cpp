// SPDX-License-Identifier: Apache-2.0
//
// A good file is read; each kind of lying file is refused with one sentence.
#include "minilm/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "berth_build_paths.hpp"
#include "minilm/input_error.hpp"
#include "temporary_folder.hpp"

namespace minilm {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class Safetensors : public testing::Test {
 protected:
  void write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // A file of this header and that many bytes of data: 0.0f, 1.0f, 2.0f ...
  void write(const std::string& header, std::size_t data_bytes) const {
    std::string bytes = length_of(header.size()) + header;
    const std::size_t start = bytes.size();
    for (float value = 0.0F; bytes.size() < start + data_bytes; value += 1.0F) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    bytes.resize(start + data_bytes);
    write(bytes);
  }

  static std::string length_of(std::uint64_t length) {
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes;
  }

  // What `open` says of the file, from behind its path.
  std::string complaint() const {
    return complaint_of([&] { (void)SafeTensors::open(path_); });
  }
  std::string complaint(const std::string& header, std::size_t data_bytes) const {
    write(header, data_bytes);
    return complaint();
  }
  template <typename Call>
  std::string complaint_of(const Call& call) const {
    try {
      call();
    } catch (const InputError& error) {
      const std::string text = error.what();
      const std::string start = "The safetensors file '" + path_.string() + "' ";
      EXPECT_TRUE(text.starts_with(start)) << text;
      EXPECT_THAT(text, EndsWith("."));
      return text.substr(std::min(start.size(), text.size()));
    }
    return "no complaint";
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.safetensors";
};

constexpr std::uint64_t kTwoThree[] = {2, 3};

TEST_F(Safetensors, ReadsAMatrixAndListsOtherTypes) {
  write(R"({"__metadata__":{"format":"pt"},
            "half":{"dtype":"F16","shape":[2],"data_offsets":[24,28]},
            "none":{"dtype":"F32","shape":[0,7],"data_offsets":[28,28]},
            "scalar":{"dtype":"F32","shape":[],"data_offsets":[28,32]},
            "w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}   )",
        32);
  const SafeTensors file = SafeTensors::open(path_);
  EXPECT_EQ(file.tensors().size(), 4U);
  EXPECT_THAT(file.f32("w", kTwoThree), ElementsAre(0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 5.0F));
  EXPECT_THAT(file.f32("scalar", {}), ElementsAre(7.0F));
  EXPECT_EQ(file.info("half").dtype, "F16");
  EXPECT_EQ(file.info("half").end, 28U);
}

TEST_F(Safetensors, ReadsTheRealWeights) {
  const auto model = std::filesystem::path(berth::build_paths::kMiniLm) / "model.safetensors";
  const SafeTensors file = SafeTensors::open(model);
  constexpr std::uint64_t kShape[] = {30522, 384};
  EXPECT_EQ(file.f32("embeddings.word_embeddings.weight", kShape).size(), 30522U * 384U);
}

TEST_F(Safetensors, RefusesAMissingFileAndAFolder) {
  EXPECT_EQ(complaint(), "cannot be read: No such file or directory.");
  EXPECT_THROW((void)SafeTensors::open(std::filesystem::temp_directory_path()), InputError);
}

TEST_F(Safetensors, RefusesAFileWithoutALength) {
  write("");
  EXPECT_EQ(complaint(), "has 0 bytes: a header length alone needs 8.");
  write("1234567");
  EXPECT_EQ(complaint(), "has 7 bytes: a header length alone needs 8.");
}

TEST_F(Safetensors, RefusesAHeaderLongerThanTheFile) {
  write(length_of(100) + "{}");
  EXPECT_EQ(complaint(),
            "says its header has 100 bytes, but 2 bytes follow: it is cut or no safetensors file.");
  write(length_of(~std::uint64_t{0}) + "{}");
  EXPECT_THAT(complaint(), HasSubstr("says its header has 18446744073709551615 bytes, but 2"));
}

TEST_F(Safetensors, RefusesAHeaderAboveTheFormatsLimit) {
  write(length_of(SafeTensors::kMaxHeaderBytes + 1));
  std::filesystem::resize_file(path_, SafeTensors::kMaxHeaderBytes + 16);  // sparse
  EXPECT_EQ(complaint(), "says its header has 100000001 bytes: the limit is 100000000.");
}

TEST_F(Safetensors, RefusesAHeaderThatIsNotJson) {
  EXPECT_EQ(complaint("", 0), "has a header of 0 bytes that does not start with '{'.");
  EXPECT_EQ(complaint("[]", 0), "has a header of 2 bytes that does not start with '{'.");
  EXPECT_THAT(complaint(R"({"a":)", 0),
              HasSubstr("has a header that is not JSON: it fails at byte"));
  EXPECT_THAT(complaint(R"({} {})", 0), HasSubstr("is not JSON"));
  EXPECT_THAT(complaint("{\"\xFF\":{}}", 0), HasSubstr("is not JSON"));
  EXPECT_EQ(complaint(R"({"a":{"b":[[)" + std::string(100'000, '['), 0),
            "has a header nested deeper than 3 levels.");
  EXPECT_THAT(complaint(R"({"a":{"shape":[1e999]}})", 0), HasSubstr("number out of range"));
}

TEST_F(Safetensors, RefusesANameTwice) {
  const std::string entry = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(complaint("{" + entry + "," + entry + "}", 4), "has the name 'w' twice in its header.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", 4),
            "has the name 'dtype' twice in its header.");
}

TEST_F(Safetensors, RefusesAnEntryWithoutItsParts) {
  EXPECT_EQ(complaint(R"({"w":3})", 0), "has a tensor 'w' whose entry is not a JSON object.");
  EXPECT_EQ(complaint(R"({"w":{}})", 0), "has a tensor 'w' without a dtype.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32"}})", 0),
            "has a tensor 'w' whose shape is not a list of non-negative integers.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "has a tensor 'w' whose shape is not a list of non-negative integers.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4),
            "has a tensor 'w' whose data_offsets are not two non-negative integers.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4.0]}})", 4),
            "has a tensor 'w' whose data_offsets are not two non-negative integers.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4),
            "has a tensor 'w' of the unknown dtype 'F99'.");
}

TEST_F(Safetensors, RefusesOffsetsOutOfRange) {
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4),
            "has a tensor 'w' at bytes [0, 8), outside its 4 bytes of data.");
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "has a tensor 'w' at bytes [4, 0), outside its 4 bytes of data.");
}

TEST_F(Safetensors, RefusesOverlapsHolesAndLeftovers) {
  EXPECT_EQ(
      complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                          "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                12),
      "has a tensor 'b' that starts at byte 4 and overlaps the one before, which ends at byte 8.");
  EXPECT_EQ(complaint(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                          "b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                      12),
            "has a tensor 'b' that starts at byte 8 and leaves a hole behind byte 4.");
  EXPECT_EQ(complaint(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 12),
            "has tensors of 4 bytes in all, but 12 bytes of data.");
}

TEST_F(Safetensors, RefusesAShapeThatIsNotItsBytes) {
  EXPECT_EQ(complaint(R"({"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,20]}})", 20),
            "has a tensor 'w' of dtype F32 and shape [3, 2], which is 24 bytes, at bytes [0, 20), "
            "which is 20.");
  EXPECT_EQ(
      complaint(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      "has a tensor 'w' of shape [4294967296, 4294967296], which has more bytes than 64 bits can "
      "count.");
}

TEST_F(Safetensors, RefusesATruncatedFile) {
  write(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  EXPECT_EQ(complaint(), "has a tensor 'w' at bytes [0, 24), outside its 23 bytes of data.");
}

TEST_F(Safetensors, RefusesAnUnexpectedTensor) {
  write(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
            "h":{"dtype":"F16","shape":[1],"data_offsets":[1,3]},
            "w":{"dtype":"F32","shape":[3,2],"data_offsets":[3,27]}})",
        27);
  const SafeTensors file = SafeTensors::open(path_);
  constexpr std::uint64_t kOne[] = {1};
  constexpr std::uint64_t kThreeTwo[] = {3, 2};
  EXPECT_EQ(complaint_of([&] { (void)file.f32("h", kOne); }),
            "has a tensor 'h' of dtype F16, where F32 is needed.");
  EXPECT_EQ(complaint_of([&] { (void)file.f32("w", kTwoThree); }),
            "has a tensor 'w' of shape [3, 2], where [2, 3] is needed.");
  EXPECT_EQ(complaint_of([&] { (void)file.f32("w", kThreeTwo); }),
            "has a tensor 'w' that starts at byte 3 of the data, which is no multiple of 4.");
  EXPECT_EQ(complaint_of([&] { (void)file.f32("v", kOne); }),
            "has 3 tensors and none is called 'v'.");
}

}  // namespace
}  // namespace minilm
