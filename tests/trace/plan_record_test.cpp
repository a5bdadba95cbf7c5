// SPDX-License-Identifier: Apache-2.0
//
// Plans as JSON and as pictures.
#include "trace/plan_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "berth/error.hpp"
#include "trace/plan_svg.hpp"
#include "trace/window_json.hpp"

namespace berth::trace {
namespace {

using plan::PageId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// x -> y, and z of no bytes; v (id 9) is never used. Page 1 stays unused.
struct Example {
  plan::Problem problem = to_problem(read_window_json(
      R"({"tensors": [{"id": 4, "bytes": 8}, {"id": "y", "bytes": 2}, {"id": 5, "bytes": 0},
                      {"id": 9, "bytes": 1}],
          "tasks": [{"reads": [], "writes": [4]}, {"reads": [4], "writes": ["y", 5]}]})",
      "example"));
  plan::Plan plan;
  RecordLabels labels{
      "example", {{"4", true}, {"y", false}, {"5", true}, {"9", true}}, 0.5, "right"};

  Example() {
    plan.places = {{PageId(0), 0}, {PageId(2), 0}, {PageId(), 0}, {PageId(), 0}};
    plan.pages = {{8, plan::PoolId(0), true}, {}, {2, plan::PoolId(0), true}};
    plan.order = {plan::TaskId(0), plan::TaskId(1)};
    plan.levels = {0, 1};
    plan.statistics = {.lower_bound = 10,
                       .peak = 10,
                       .to_make = 10,
                       .pages = 2,
                       .levels = 2,
                       .barriers = 1,
                       .barriers_demanded = 1};
  }
};

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_plan_json(text, "plan.json"));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanRecord, HoldsEveryUsedTensorOnceOnRenumberedPages) {
  const Example example;
  const PlanRecord record = record_of(example.problem, example.plan, example.labels);
  EXPECT_THAT(record.pages, ElementsAre(8, 2, 0));
  ASSERT_EQ(record.placement.size(), 3U);
  EXPECT_EQ(record.placement[1].page, 1U);
  EXPECT_EQ(record.placement[2].page, 2U);  // no bytes: a page of its own
  EXPECT_EQ(record.peak, 10U);
  EXPECT_DOUBLE_EQ(record.ratio, 1.0);
}

TEST(PlanRecord, GivesBackWhatItWrites) {
  const Example example;
  const std::string text =
      write_plan_json(record_of(example.problem, example.plan, example.labels));
  EXPECT_THAT(text, HasSubstr(R"({"id":4,"page":0,"offset":0},{"id":"y","page":1,"offset":0})"));
  EXPECT_THAT(text, HasSubstr(R"("order":[0,1],"time_ms":0.5,"verdict":"right")"));
  EXPECT_EQ(write_plan_json(read_plan_json(text, "again")), text);
}

TEST(PlanRecord, RefusesWhatIsNoPlan) {
  const Example example;
  const std::string text =
      write_plan_json(record_of(example.problem, example.plan, example.labels));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("3"), HasSubstr("a plan is a JSON object"));
  EXPECT_THAT(refusal(replaced(text, R"("verdict")", R"("judge")")), HasSubstr("no \"verdict\""));
  EXPECT_THAT(refusal(replaced(text, R"("page":1)", R"("page":3)")), HasSubstr("below 3"));
  EXPECT_THAT(refusal(replaced(text, R"("bytes":8)", R"("bytes":-8)")), HasSubstr("page 0"));
  EXPECT_THAT(refusal(replaced(text, R"("id":5)", R"("id":4)")), HasSubstr("placed twice"));
  EXPECT_THAT(refusal(replaced(text, "[0,1]", "[1,1]")), HasSubstr("task 1 twice"));
  EXPECT_THAT(refusal(replaced(text, "[0,1]", "[0,2]")), HasSubstr("below 2"));
  EXPECT_THAT(refusal(replaced(text, R"("pages":[)", R"("pages":7,"x":[)")), HasSubstr("a list"));
}

TEST(PlanSvg, DrawsALanePerUsedPageABoxPerVersionAndEachConflict) {
  const Example example;
  const std::string svg =
      draw_svg(example.problem, example.plan, {"a <window> & more", {"x", "y'", "", ""}, {}});
  EXPECT_THAT(svg, HasSubstr("a &lt;window&gt; &amp; more"));
  EXPECT_THAT(svg, HasSubstr("page 0: 8"));
  EXPECT_THAT(svg, HasSubstr("page 2: 2"));
  EXPECT_THAT(svg, Not(HasSubstr("page 1:")));
  EXPECT_THAT(svg, HasSubstr("y&apos;: 2 bytes at 0 of page 2"));
  EXPECT_THAT(svg, HasSubstr("<line "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace berth::trace
