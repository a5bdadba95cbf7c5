// SPDX-License-Identifier: Apache-2.0
//
// The judge's rules of errors, of the host's access to buffers, and of submissions.
#include <array>
#include <ranges>

#include "support/wgpu_judge_state.hpp"

namespace berth::test {

namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

constexpr std::array kFilters{ErrorFilter::validation, ErrorFilter::out_of_memory,
                              ErrorFilter::internal};

}  // namespace

// Error scopes.

Judge::Impl::OpenScopes Judge::Impl::open_scopes() const {
  OpenScopes all;
  for (const auto& [device, stack] : open_) all.insert(all.end(), stack.begin(), stack.end());
  return all;
}

// Of nested scopes of one filter only the innermost catches what happens in it.
std::string Judge::Impl::error_of(const OpenScopes& scopes) const {
  for (const ErrorFilter filter : kFilters) {
    for (const std::size_t scope : std::ranges::reverse_view(scopes)) {
      if (scopes_[scope].filter != filter) continue;
      if (!scopes_[scope].error.empty()) return scopes_[scope].error;
      break;
    }
  }
  return {};
}

void Judge::Impl::on(const ScopePushed& call) {
  open_[call.device].push_back(scopes_.size());
  scopes_.push_back({call.device, call.filter, 0, false, {}});
}

void Judge::Impl::on(const ScopePopped& call) {
  std::vector<std::size_t>& stack = open_[call.device];
  if (stack.empty()) {
    violation(Rule::scope_balance,
              "An error scope of device " + text(call.device) + " is popped where none is open.");
    return;
  }
  scopes_[stack.back()].answer = call.answer;
  stack.pop_back();
}

void Judge::Impl::on(const ScopeAnswered& call) {
  // From the end: answers come soon after their pop.
  for (Scope& scope : std::ranges::reverse_view(scopes_)) {
    if (scope.answer != call.answer || scope.answer == 0) continue;
    scope.answered = true;
    scope.error = call.error;
    break;
  }
  if (!call.error.empty() && options.errors == JudgeOptions::Errors::forbidden) {
    violation(Rule::error, "An error scope caught: " + call.error);
  }
}

void Judge::Impl::on(const ErrorUncaptured& call) {
  violation(Rule::uncaptured_error, "No error scope caught: " + call.message);
}

void Judge::Impl::on(const DeviceWasLost& call) { lost_.insert(call.device); }

void Judge::Impl::check_scopes_closed() {
  for (const auto& [device, stack] : open_) {
    if (!stack.empty()) {
      violation(Rule::scope_balance, text(stack.size()) + " error scopes of device " +
                                         text(device) + " are still open at the end.");
    }
  }
  for (const Scope& scope : scopes_) {
    if (scope.answer != 0 && !scope.answered) {
      violation(Rule::scope_balance,
                "The error scope popped as answer " + text(scope.answer) + " was never answered.");
    }
  }
}

// Buffers and the host.

void Judge::Impl::on(const BufferMade& call) {
  Buffer& buffer = buffers_[call.buffer];
  buffer.made = call;
  buffer.scopes = open_scopes();
  if (call.mapped) buffer.host = HostState::mapped;
}

void Judge::Impl::on(const BufferDestroyed& call) {
  const auto found = buffers_.find(call.buffer);
  if (found == buffers_.end()) return;
  found->second.destroyed = true;
  found->second.host = HostState::unmapped;
}

void Judge::Impl::on(const BufferReleased& call) {
  const auto found = buffers_.find(call.buffer);
  if (found != buffers_.end()) found->second.released = true;
}

void Judge::Impl::on(const BufferWritten& call) {
  const std::string what = "Write " + text(writes_++) + " of the queue";
  check_multiple(call.offset, 4, "offset", what);
  check_multiple(call.bytes, 4, "size", what);
  check_range(call.buffer, call.offset, call.bytes, what);
  check_usage(call.buffer, usage::kCopyTarget, "a write's target", what);
  check_submitted_buffer(call.buffer, what);
}

void Judge::Impl::on(const MapAsked& call) {
  const auto found = buffers_.find(call.buffer);
  if (found == buffers_.end()) {
    violation(Rule::dead_buffer,
              "A map is asked of buffer " + text(call.buffer) + ", which is not alive.");
    return;
  }
  Buffer& buffer = found->second;
  if (buffer.destroyed) {
    violation(Rule::dead_buffer,
              "A map is asked of " + name_of_buffer(call.buffer) + ", which is destroyed.");
  }
  if (buffer.host != HostState::unmapped) {
    violation(Rule::mapped_buffer, "A map is asked of " + name_of_buffer(call.buffer) +
                                       ", which is already mapped or being mapped.");
  }
  buffer.host = HostState::pending;
}

void Judge::Impl::on(const MapAnswered& call) {
  const auto found = buffers_.find(call.buffer);
  if (found == buffers_.end()) return;
  Buffer& buffer = found->second;
  if (buffer.aborted > 0 && !call.mapped) {
    --buffer.aborted;
  } else if (buffer.host == HostState::pending) {
    buffer.host = call.mapped ? HostState::mapped : HostState::unmapped;
  }
}

void Judge::Impl::on(const Unmapped& call) {
  const auto found = buffers_.find(call.buffer);
  if (found == buffers_.end()) return;
  if (found->second.host == HostState::pending) ++found->second.aborted;
  found->second.host = HostState::unmapped;
}

// Submissions.

void Judge::Impl::on(const Finished& call) {
  const std::string what = "Command buffer " + text(call.commands);
  Encoder* encoder =
      encoder_for_command(call.encoder, "The finish of command buffer " + text(call.commands));
  if (encoder == nullptr) return;
  if (encoder->open_passes != 0) {
    violation(Rule::command_order,
              what + " is finished with " + text(encoder->open_passes) + " passes open.");
  }
  commands_[call.commands] = {std::move(*encoder), open_scopes()};
  encoders_.erase(call.encoder);
}

void Judge::Impl::check_submitted_buffer(ObjectId id, const std::string& where) {
  const auto found = buffers_.find(id);
  if (found == buffers_.end()) return;  // reported where it was used
  const Buffer& buffer = found->second;
  const std::string name = name_of_buffer(id);
  if (buffer.destroyed) {
    violation(Rule::dead_buffer, where + " uses " + name + ", which is destroyed.");
  }
  if (buffer.host == HostState::pending) {
    violation(Rule::mapped_buffer, where + " uses " + name + ", which is being mapped.");
  }
  if (buffer.host == HostState::mapped) {
    violation(Rule::mapped_buffer, where + " uses " + name + ", which is mapped.");
  }
  check_made_in(buffer.scopes, where + " uses " + name + ",");
}

void Judge::Impl::check_finish_scope(const Commands& commands, const std::string& where) {
  if (options.finish_scope == JudgeOptions::FinishScope::optional) return;
  for (const std::size_t scope : std::ranges::reverse_view(commands.scopes)) {
    if (scopes_[scope].filter != ErrorFilter::validation) continue;
    if (!scopes_[scope].answered) {
      violation(Rule::submit_without_scope,
                where + " comes before the answer of the validation scope around its finish.");
    }
    return;
  }
  violation(Rule::submit_without_scope,
            where + " submits commands whose finish was in no validation scope.");
}

void Judge::Impl::check_made_in(const OpenScopes& scopes, const std::string& where) {
  const std::string error = error_of(scopes);
  if (!error.empty()) {
    std::string sentence = where;
    sentence += " made where a scope caught: ";
    violation(Rule::submit_after_error, sentence + error);
  }
}

void Judge::Impl::on(const Submitted& call) {
  const std::string number = "Submission " + text(submits_++);
  for (const ObjectId id : call.commands) {
    std::string where = number;
    where += " (command buffer " + text(id) + ")";
    const auto found = commands_.find(id);
    if (found == commands_.end()) {
      violation(Rule::command_order, where + " was submitted before, or never finished.");
      continue;
    }
    ++verdict.submitted;
    const Commands& commands = found->second;
    if (lost_.contains(commands.content.device)) {
      violation(Rule::submit_after_loss, where + " comes after the loss of its device.");
    }
    check_finish_scope(commands, where);
    check_made_in(commands.scopes, where + " submits commands");
    for (const ObjectId buffer : commands.content.buffers) check_submitted_buffer(buffer, where);
    for (const ObjectId group : commands.content.groups) {
      const auto made = groups_.find(group);
      if (made == groups_.end()) continue;
      check_made_in(made->second.scopes, where + " uses bind group " + text(group) + ",");
    }
    for (const ObjectId pipeline : commands.content.pipelines) {
      const auto made = pipelines_.find(pipeline);
      if (made == pipelines_.end()) continue;
      check_made_in(made->second.scopes, where + " uses pipeline " + text(pipeline) + ",");
    }
    commands_.erase(found);
  }
}

}  // namespace berth::test
