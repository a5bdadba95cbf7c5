// SPDX-License-Identifier: Apache-2.0
//
// The .npy bytes, what is refused, and that no half file is left behind.
#include "minilm/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "berth_build_paths.hpp"
#include "minilm/atomic_file.hpp"
#include "minilm/input_error.hpp"
#include "temporary_folder.hpp"

namespace minilm {
namespace {

using testing::HasSubstr;

const std::vector<float> kValues = {0.0F, 1.0F, -2.5F, 3.0F, 4.0F, 5.0F};

std::string read_error(const std::filesystem::path& path) {
  try {
    (void)read_npy(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Npy, WritesTheHeaderNumpyWrites) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", kValues, 3);
  const std::string bytes = file_bytes(folder / "a.npy");
  ASSERT_EQ(bytes.size(), 128U + 24U);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(bytes, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   "));
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(folder.count(), 1);
}

TEST(Npy, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", kValues, 2);
  const Matrix matrix = read_npy(folder / "a.npy");
  EXPECT_EQ(matrix.rows, 3U);
  EXPECT_EQ(matrix.columns, 2U);
  EXPECT_EQ(matrix.values, kValues);
  write_npy(folder / "empty.npy", {}, 384);
  EXPECT_EQ(read_npy(folder / "empty.npy").rows, 0U);
}

TEST(Npy, ReadsTheReferenceEmbeddings) {
  const Matrix matrix = read_npy(std::filesystem::path(berth::build_paths::kSourceDir) /
                                 "tests/examples/data/embeddings_200.npy");
  ASSERT_EQ(matrix.rows, 200U);
  ASSERT_EQ(matrix.columns, 384U);
  for (std::size_t row = 0; row < 200; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 384; ++i) {
      squares += std::pow(static_cast<double>(matrix.values[row * 384 + i]), 2);
    }
    EXPECT_NEAR(squares, 1.0, 1e-6) << "row " << row;
  }
}

TEST(Npy, RefusesAFileOfAnotherKind) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", kValues, 3);
  const std::string good = file_bytes(folder / "a.npy");
  const auto error_of = [&](const std::string& bytes) {
    write_file(folder / "b.npy", bytes);
    return read_error(folder / "b.npy");
  };
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string bytes = good;
    return bytes.replace(bytes.find(old), old.size(), replacement);
  };
  EXPECT_THAT(error_of(""), HasSubstr("does not start as version 1.0"));
  EXPECT_THAT(error_of("\x93NUMPY\x02" + good.substr(7)), HasSubstr("does not start"));
  EXPECT_THAT(error_of(good.substr(0, 100)), HasSubstr("header ends at byte 128 and has 100"));
  EXPECT_THAT(error_of(good.substr(0, 140)), HasSubstr("12 bytes of values, which are not 2 x 3"));
  EXPECT_THAT(error_of(with("<f4", "<f8")), HasSubstr("is not a matrix"));
  EXPECT_THAT(error_of(with("False", "True ")), HasSubstr("is not a matrix"));
  EXPECT_THAT(error_of(with("(2, 3), }", "(2,  ), }")), HasSubstr("is not a matrix"));
  EXPECT_THAT(error_of(with("(2, 3), }              ", "(4611686018427387904, 4), }")),
              HasSubstr("bytes of values"));
  EXPECT_THAT(read_error(folder / "none.npy"), HasSubstr("No such file"));
}

TEST(Npy, RefusesValuesThatAreNoMatrix) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_npy(folder / "a.npy", kValues, 4), std::invalid_argument);
  EXPECT_THROW(write_npy(folder / "a.npy", kValues, 0), std::invalid_argument);
  EXPECT_EQ(folder.count(), 0);
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(file_bytes(folder / "a"), "old");
    EXPECT_EQ(folder.count(), 2);
  }
  EXPECT_EQ(file_bytes(folder / "a"), "old");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, ReplacesTheFileBehindALinkAndKeepsItsMode) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  std::filesystem::permissions(folder / "a", std::filesystem::perms{0640});
  std::filesystem::create_symlink(folder / "a", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(file_bytes(folder / "a"), "new");
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions(), std::filesystem::perms{0640});
  EXPECT_EQ(folder.count(), 2);
}

TEST(AtomicFile, WritesToAPipeDirectly) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::FILE* const reader = std::fopen(pipe.c_str(), "r+");  // r+: does not wait for the writer
  ASSERT_NE(reader, nullptr);
  AtomicFile file(pipe);
  file.write("through\n");
  file.commit();
  std::string line(8, '\0');
  EXPECT_EQ(std::fread(line.data(), 1, line.size(), reader), 8U);
  std::fclose(reader);
  EXPECT_EQ(line, "through\n");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  const TemporaryFolder folder;
  const auto error_of = [](const std::filesystem::path& path) -> std::string {
    try {
      AtomicFile file(path);
      file.write(std::string(1U << 20U, 'x'));
      file.commit();
    } catch (const OutputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of(folder / "none/a"), HasSubstr("none/a': No such file or directory."));
  EXPECT_THAT(error_of(folder / ""), HasSubstr("': it is a folder."));
  EXPECT_EQ(error_of("/dev/full"), "Cannot write '/dev/full': No space left on device.");
}

}  // namespace
}  // namespace minilm
