// SPDX-License-Identifier: Apache-2.0
//
// MiniMalloc's CSV: what is read, what is refused, and the problem that is made of it.
#include "trace/lifetimes_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "berth/error.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_lifetimes_csv(text, "buffers.csv"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

TEST(LifetimesCsv, ReadsColumnsInAnyOrderAndBothLineEnds) {
  const Lifetimes read =
      read_lifetimes_csv("size,id,upper,lower,offset\r\n4,b1,3,0,8\r\n\n16,7,21,-9,0", "b.csv");
  ASSERT_EQ(read.buffers.size(), 2U);
  EXPECT_EQ(read.buffers[0].id.id, "b1");
  EXPECT_FALSE(read.buffers[0].id.numeric);
  EXPECT_EQ(read.buffers[0].bytes, 4U);
  EXPECT_EQ(read.buffers[1].id.id, "7");
  EXPECT_TRUE(read.buffers[1].id.numeric);
  EXPECT_EQ(read.buffers[1].lower, -9);
  EXPECT_EQ(read.buffers[1].upper, 21);
}

TEST(LifetimesCsv, HoldsHalfOpenLifetimesApart) {
  // a [0, 3)  b [3, 9)  c [2, 3): a and c meet, b meets neither.
  const plan::Problem problem =
      to_problem(read_lifetimes_csv("id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,2,3,4\n", "b.csv"));
  EXPECT_FALSE(problem.device.exclusion);
  ASSERT_EQ(problem.tasks.size(), 3U);  // the births 0, 2, 3
  const auto uses_in = [&](std::size_t task) {
    std::string text;
    const plan::Task& t = problem.tasks[task];
    for (std::uint32_t u = t.first_use; u < t.first_use + t.use_count; ++u) {
      text += static_cast<char>('a' + problem.uses[u].version.value);
    }
    return text;
  };
  EXPECT_EQ(uses_in(0), "a");
  EXPECT_EQ(uses_in(1), "ac");
  EXPECT_EQ(uses_in(2), "b");
}

TEST(LifetimesCsv, WritesOffsets) {
  EXPECT_EQ(write_lifetimes_csv({{{{"b1", false}, 0, 3, 4}, 8}}),
            "id,lower,upper,size,offset\nb1,0,3,4,8\n");
}

TEST(LifetimesCsv, RefusesWhatIsNoTable) {
  EXPECT_EQ(refusal(""), "buffers.csv: the file is empty.");
  EXPECT_EQ(refusal("\n \n"), "buffers.csv: the file is empty.");
  EXPECT_THAT(refusal("0,1,2,3\n"), HasSubstr("line 1 must be the header"));
  EXPECT_THAT(refusal("id,lower,upper\n"), HasSubstr("no column \"size\""));
  EXPECT_THAT(refusal("id,lower,upper,size,size\n"), HasSubstr("\"size\" twice"));
  EXPECT_THAT(refusal("id,lower,upper,size\n1,2,3\n"), HasSubstr("line 2 has 3 fields"));
}

TEST(LifetimesCsv, RefusesBadNumbersWithTheirLine) {
  const std::string header = "id,lower,upper,size\n0,0,1,4\n";
  for (const char* size : {"-4", "4.5", "", "4x", " 4", "99999999999999999999999"}) {
    EXPECT_THAT(refusal(header + "1,0,1," + size + "\n"), HasSubstr("line 3 has the size")) << size;
  }
  EXPECT_THAT(refusal(header + "1,0,1,9007199254740993\n"), HasSubstr("above the limit"));
  EXPECT_THAT(refusal(header + "1,0,1,9007199254740992\n"), HasSubstr("together"));
  EXPECT_THAT(refusal(header + "1,x,1,4\n"), HasSubstr("line 3 has the lower \"x\""));
  EXPECT_THAT(refusal(header + "1,5,5,4\n"), HasSubstr("from 5 to 5, which is empty"));
  EXPECT_THAT(refusal(header + "0,0,1,4\n"), HasSubstr("the id \"0\" a second time"));
  EXPECT_THAT(refusal(header + ",0,1,4\n"), HasSubstr("empty id"));
}

}  // namespace
}  // namespace berth::trace
