// SPDX-License-Identifier: Apache-2.0
//
// The parts of check(): each judges one family of rules and adds what it finds. They run in the
// order below and never assume that an earlier one found nothing. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/plan/planner.hpp"
#include "plan/check_view.hpp"

namespace berth::plan::checker {

/// A plan that breaks one rule often breaks it everywhere; this many of each say enough.
inline constexpr std::size_t kMostPerRule = 32;

/// What is judged.
struct Subject {
  const Problem& problem;
  const Plan& plan;
  /// True if `version` lies on a page that the plan has.
  [[nodiscard]] bool placed(std::size_t version) const;
};

using Rule = Violation::Rule;

/// What a violation is about.
struct Where {
  std::vector<TaskId> tasks{};
  std::vector<VersionId> versions{};
  PageId page{};
};

/// The violations so far.
class Findings {
 public:
  /// `sentence` follows the rule's name in the message.
  void add(Rule rule, Where where, const std::string& sentence);
  [[nodiscard]] std::vector<Violation> take() && { return std::move(found_); }

 private:
  std::vector<Violation> found_;
  std::array<std::size_t, 32> counts_{};
};

/// The plan's order as positions and lives; both empty if the order is no permutation.
struct Timeline {
  bool known = false;
  std::vector<std::uint32_t> positions;  ///< per task
  std::vector<Life> lives;               ///< per version
  std::vector<std::uint32_t> heir_tick;  ///< per version: taken over in place at this tick, or 0
  std::vector<bool> handed_over;         ///< per use: the input side of a taken in-place pair
};

/// order: a permutation within the hazards, and levels that are the data levels.
[[nodiscard]] Timeline check_order(const Subject& subject, Findings& findings);

/// in_place: every taken pair is allowed and lies in one place. Notes the pairs in `timeline`.
void check_in_place(const Subject& subject, Timeline& timeline, Findings& findings);

/// overlap: no two versions share bytes while both live.
void check_overlap(const Subject& subject, const Timeline& timeline, Findings& findings);

/// misaligned, exclusion and rounding: what a task binds of one page.
void check_visibility(const Subject& subject, const Timeline& timeline, Findings& findings);

/// statistics: the plan's figures are what the plan is.
void check_statistics(const Subject& subject, const Timeline& timeline, Findings& findings);

/// Bytes of all pages that the plan uses or cannot give back, new ones rounded to the granularity.
[[nodiscard]] Bytes bytes_held(const Subject& subject);

}  // namespace berth::plan::checker
