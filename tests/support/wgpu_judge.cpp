// SPDX-License-Identifier: Apache-2.0
#include "support/wgpu_judge.hpp"

#include "support/wgpu_judge_state.hpp"

namespace berth::test {

const char* name_of(Rule rule) {
  switch (rule) {
    case Rule::writable_and_other_use:
      return "writable_and_other_use";
    case Rule::writable_overlap:
      return "writable_overlap";
    case Rule::offset_alignment:
      return "offset_alignment";
    case Rule::out_of_range:
      return "out_of_range";
    case Rule::buffer_usage:
      return "buffer_usage";
    case Rule::copy_within_buffer:
      return "copy_within_buffer";
    case Rule::input_not_read_only:
      return "input_not_read_only";
    case Rule::undeclared_pipeline:
      return "undeclared_pipeline";
    case Rule::bind_group:
      return "bind_group";
    case Rule::command_order:
      return "command_order";
    case Rule::dead_buffer:
      return "dead_buffer";
    case Rule::mapped_buffer:
      return "mapped_buffer";
    case Rule::submit_after_error:
      return "submit_after_error";
    case Rule::submit_without_scope:
      return "submit_without_scope";
    case Rule::submit_after_loss:
      return "submit_after_loss";
    case Rule::scope_balance:
      return "scope_balance";
    case Rule::error:
      return "error";
    case Rule::uncaptured_error:
      return "uncaptured_error";
  }
  return "?";
}

bool Verdict::broke(Rule rule) const {
  for (const Violation& v : violations) {
    if (v.rule == rule) return true;
  }
  return false;
}

std::string Verdict::text() const {
  std::string lines;
  for (const Violation& v : violations) {
    lines += std::string(name_of(v.rule)) + ": " + v.text + "\n";
  }
  return lines;
}

Judge::Judge(JudgeOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Judge::~Judge() = default;

void Judge::read(const Recording& recording) {
  for (const Call& call : recording.calls) {
    std::visit([this](const auto& one) { impl_->on(one); }, call);
  }
}

const Verdict& Judge::verdict() const { return impl_->verdict; }

Verdict Judge::finish() {
  impl_->check_scopes_closed();
  return impl_->verdict;
}

Verdict judge(const Recording& recording, JudgeOptions options) {
  Judge one(std::move(options));
  one.read(recording);
  return one.finish();
}

}  // namespace berth::test
