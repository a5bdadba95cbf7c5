// SPDX-License-Identifier: Apache-2.0
//
// A plan as a file holds it:
//   {"name", "pages": [{"bytes"}], "placement": [{"id", "page", "offset"}], "lower_bound", "peak",
//    "ratio", "barriers", "levels", "order", "time_ms", "verdict"}
// Every used tensor is placed once; `order` lists task indices; `lower_bound` is the most bytes
// live at once in that order, `peak` the sum of the pages, `ratio` peak / lower_bound. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/plan/problem.hpp"
#include "trace/window.hpp"

namespace berth::trace {

/// One tensor's place.
struct Placement {
  TensorName id;
  std::uint32_t page = 0;
  Bytes offset = 0;
};

/// A plan with its figures.
struct PlanRecord {
  std::string name;
  std::vector<Bytes> pages;
  std::vector<Placement> placement;
  Bytes lower_bound = 0;
  Bytes peak = 0;
  double ratio = 1;  ///< 1 if nothing is live
  std::uint32_t barriers = 0;
  std::uint32_t levels = 0;
  std::vector<std::uint32_t> order;
  double time_ms = 0;
  std::string verdict;  ///< "right", or what the checker says
};

/// What a record says beside the plan itself.
struct RecordLabels {
  std::string name;
  std::vector<TensorName> ids;  ///< per version
  double time_ms = 0;
  std::string verdict;
};

/// The record of a plan for a problem made by to_problem().
/// Only used pages are listed, renumbered from 0. A used tensor of no bytes gets a page of no bytes
/// of its own, so that it shares a page with nothing.
[[nodiscard]] PlanRecord record_of(const plan::Problem& problem, const plan::Plan& plan,
                                   RecordLabels labels);

[[nodiscard]] std::string write_plan_json(const PlanRecord& record);

/// Reads what write_plan_json() writes; `source` names the text in errors.
/// Errors: Error(invalid_argument), one sentence: malformed JSON, a member missing or of another
/// type, a page number or size out of range, a tensor placed twice, an order that is no
/// permutation.
[[nodiscard]] PlanRecord read_plan_json(std::string_view text, std::string_view source);

}  // namespace berth::trace
