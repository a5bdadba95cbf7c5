// SPDX-License-Identifier: Apache-2.0
//
// A plan as a picture: time to the right, addresses upwards, one lane per page. A box is a version
// over its life; a red line joins a version that a task writes with one that the same task only
// reads, so a line that stays inside a lane would be a broken rule. Any thread.
#pragma once

#include <string>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::trace {

/// What is drawn beside the plan.
struct SvgLabels {
  std::string title;
  std::vector<std::string> versions;  ///< per version; empty: its number
  std::vector<std::string> tasks;     ///< per task; empty: its number
};

/// Draws a plan that the checker accepts.
/// Cost: one box per version, one line per written and read pair of a task.
[[nodiscard]] std::string draw_svg(const plan::Problem& problem, const plan::Plan& plan,
                                   const SvgLabels& labels);

}  // namespace berth::trace
