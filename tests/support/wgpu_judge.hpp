// SPDX-License-Identifier: Apache-2.0
//
// The second judge: applies WebGPU's rules of buffer use (and the contract's stricter ones) to what
// was recorded at the entry points. It shares no code with the library, the planner's checker or
// the recorder, and trusts no label or plan: only bind groups, offsets and commands. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/wgpu_recording.hpp"

namespace berth::test {

/// Which rule is broken; a sentence goes with each.
enum class Rule : std::uint8_t {
  writable_and_other_use,  ///< a buffer is writable and has another use in one dispatch
  writable_overlap,        ///< writable ranges of a buffer overlap after rounding
  offset_alignment,        ///< of bindings, dynamic offsets, copies, clears, writes, indirect
  out_of_range,            ///< beyond the buffer's end, empty, or below the layout's least size
  buffer_usage,            ///< the buffer was not made for this use
  copy_within_buffer,      ///< a copy's two sides are one buffer
  input_not_read_only,     ///< a binding declared as read is bound writable
  undeclared_pipeline,     ///< a pipeline without declaration, where declarations must be complete
  bind_group,              ///< missing, of another layout, wrong number of dynamic offsets, unknown
  command_order,           ///< commands in a wrong state: ended pass, open pass, submitted twice
  dead_buffer,             ///< use of a destroyed or released buffer
  mapped_buffer,           ///< submission, write or map of a buffer that is mapped or being mapped
  submit_after_error,      ///< commands or objects made where a scope caught an error
  submit_without_scope,    ///< finish was in no validation scope that was answered before submit
  submit_after_loss,
  scope_balance,     ///< pop without push, push without pop, a pop without an answer
  error,             ///< an error that a scope caught, where errors are forbidden
  uncaptured_error,  ///< an error that no scope caught
};
[[nodiscard]] const char* name_of(Rule rule);

struct Violation {
  Rule rule = Rule::error;
  std::string text;  ///< a sentence that names dispatch or call, groups and bindings, ranges
};

struct Verdict {
  std::vector<Violation> violations;
  std::uint64_t dispatches = 0;  ///< judged
  std::uint64_t submitted = 0;   ///< command buffers
  [[nodiscard]] bool ok() const { return violations.empty(); }
  [[nodiscard]] bool broke(Rule rule) const;
  /// One line a violation; empty if there is none.
  [[nodiscard]] std::string text() const;
};

/// What a pipeline's bindings are declared as, found by the pipeline's label.
struct DeclaredPipeline {
  struct Binding {
    std::uint32_t group = 0;
    std::uint32_t binding = 0;
  };
  std::string label;
  std::vector<Binding> reads;  ///< must be bound read-only (or as uniform)
};

struct JudgeOptions {
  enum class Errors : std::uint8_t { forbidden, expected };
  enum class FinishScope : std::uint8_t { required, optional };
  enum class Declared : std::uint8_t { some, all };
  enum class Promotions : std::uint8_t { forbidden, allowed };

  Errors errors = Errors::forbidden;  ///< errors that a scope caught
  FinishScope finish_scope = FinishScope::required;
  std::vector<DeclaredPipeline> declared{};
  Declared declarations = Declared::some;  ///< all: a dispatch of any other pipeline is refused
  /// allowed: a dispatch whose storage bindings are all writable need not keep its declaration.
  Promotions promotions = Promotions::forbidden;
  /// Raises the alignment of storage offsets (a device lowered by option); 0 = the device's.
  std::uint64_t storage_alignment = 0;
};

/// Reads calls in order; several recordings may be parts of one (Recorder::take).
class Judge {
 public:
  explicit Judge(JudgeOptions options = {});
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  ~Judge();

  void read(const Recording& recording);
  /// The verdict so far.
  [[nodiscard]] const Verdict& verdict() const;
  /// The verdict at the end: open and unanswered scopes count.
  [[nodiscard]] Verdict finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// All of one recording.
[[nodiscard]] Verdict judge(const Recording& recording, JudgeOptions options = {});

}  // namespace berth::test
