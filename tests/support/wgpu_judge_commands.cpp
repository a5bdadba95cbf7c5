// SPDX-License-Identifier: Apache-2.0
//
// The judge's rules of encoded commands. They hold at encoding, whether submitted or not.
#include <algorithm>

#include "support/wgpu_judge_state.hpp"

namespace berth::test {

using judging::Use;
using judging::UseKind;

namespace {

constexpr std::uint64_t kWord = 4;

std::string text(std::uint64_t value) { return std::to_string(value); }

std::string named(const char* what, std::uint64_t number, const std::string& label) {
  std::string name = std::string(what) + " " + text(number);
  if (!label.empty()) name += " \"" + label + "\"";
  return name;
}

}  // namespace

void Judge::Impl::violation(Rule rule, std::string sentence) {
  verdict.violations.push_back({rule, std::move(sentence)});
}

std::string Judge::Impl::name_of_buffer(ObjectId buffer) const {
  const auto found = buffers_.find(buffer);
  return named("buffer", buffer, found == buffers_.end() ? "" : found->second.made.label);
}

std::uint64_t Judge::Impl::storage_alignment(ObjectId device) const {
  const auto found = devices_.find(device);
  const std::uint64_t own = found == devices_.end() ? 256 : found->second.storage_alignment;
  return std::max(own, options.storage_alignment);
}

std::uint64_t Judge::Impl::uniform_alignment(ObjectId device) const {
  const auto found = devices_.find(device);
  return found == devices_.end() ? 256 : found->second.uniform_alignment;
}

// What things are.

void Judge::Impl::on(const DeviceSeen& call) { devices_[call.device] = call; }
void Judge::Impl::on(const LayoutMade& call) {
  LayoutMade& layout = layouts_[call.layout] = call;
  std::ranges::sort(layout.entries, {}, &LayoutEntry::binding);
}
void Judge::Impl::on(const PipelineLayoutMade& call) { pipeline_layouts_[call.layout] = call; }
void Judge::Impl::on(const PipelineMade& call) {
  pipelines_[call.pipeline] = {call, open_scopes()};
}
void Judge::Impl::on(const GroupMade& call) { groups_[call.group] = {call, open_scopes()}; }
void Judge::Impl::on(const EncoderMade& call) {
  encoders_[call.encoder] = {};
  encoders_[call.encoder].device = call.device;
}

// Encoders and passes. What is finished or ended is forgotten; a later use is "of none".

Judge::Impl::Encoder* Judge::Impl::encoder_for_command(ObjectId encoder, const std::string& what) {
  const auto found = encoders_.find(encoder);
  if (found == encoders_.end()) {
    violation(Rule::command_order, what + " goes to encoder " + text(encoder) +
                                       ", which is finished or was never made.");
    return nullptr;
  }
  return &found->second;
}

Judge::Impl::Pass* Judge::Impl::pass_for_command(ObjectId pass, const std::string& what) {
  const auto found = passes_.find(pass);
  if (found == passes_.end()) {
    violation(Rule::command_order,
              what + " goes to pass " + text(pass) + ", which has ended or was never begun.");
    return nullptr;
  }
  return &found->second;
}

void Judge::Impl::use_buffer(ObjectId encoder, ObjectId buffer) {
  const auto found = encoders_.find(encoder);
  if (found != encoders_.end()) found->second.buffers.insert(buffer);
}

void Judge::Impl::on(const PassBegun& call) {
  if (Encoder* encoder = encoder_for_command(call.encoder, named("Pass", call.pass, call.label))) {
    ++encoder->open_passes;
  }
  passes_[call.pass] = {};
  passes_[call.pass].encoder = call.encoder;
}

void Judge::Impl::on(const PassEnded& call) {
  const Pass* pass = pass_for_command(call.pass, "The end of a pass");
  if (pass == nullptr) return;
  const auto encoder = encoders_.find(pass->encoder);
  if (encoder != encoders_.end() && encoder->second.open_passes > 0) {
    --encoder->second.open_passes;
  }
  passes_.erase(call.pass);
}

void Judge::Impl::on(const PipelineSet& call) {
  Pass* pass = pass_for_command(call.pass, "A pipeline");
  if (pass == nullptr) return;
  pass->pipeline = call.pipeline;
  const auto encoder = encoders_.find(pass->encoder);
  if (encoder != encoders_.end()) encoder->second.pipelines.insert(call.pipeline);
}

void Judge::Impl::on(const GroupSet& call) {
  Pass* pass = pass_for_command(call.pass, "A bind group");
  if (pass == nullptr) return;
  pass->groups[call.index] = {call.group, call.dynamic_offsets};
  const auto encoder = encoders_.find(pass->encoder);
  const auto group = groups_.find(call.group);
  if (encoder == encoders_.end() || group == groups_.end()) return;
  encoder->second.groups.insert(call.group);
  for (const GroupEntry& entry : group->second.made.entries) {
    if (entry.buffer != 0) encoder->second.buffers.insert(entry.buffer);
  }
}

// Ranges.

void Judge::Impl::check_multiple(std::uint64_t value, std::uint64_t step, const char* name,
                                 const std::string& what) {
  if (step != 0 && value != kUnknownSize && value % step != 0) {
    violation(Rule::offset_alignment, what + " has the " + name + " " + text(value) +
                                          ", which is no multiple of " + text(step) + ".");
  }
}

void Judge::Impl::check_usage(ObjectId buffer, std::uint64_t needed, const char* name,
                              const std::string& what) {
  const auto found = buffers_.find(buffer);
  if (found != buffers_.end() && (found->second.made.usage & needed) == 0) {
    violation(Rule::buffer_usage, what + " uses " + name_of_buffer(buffer) + " as " + name +
                                      ", which it was not made for.");
  }
}

void Judge::Impl::check_range(ObjectId buffer, std::uint64_t offset, std::uint64_t bytes,
                              const std::string& what) {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) {
    violation(Rule::dead_buffer,
              what + " uses buffer " + text(buffer) + ", which was released or never made.");
    return;
  }
  const std::uint64_t size = found->second.made.size;
  if (size == kUnknownSize) return;
  if (bytes == kUnknownSize || offset > size || bytes > size - offset) {
    violation(Rule::out_of_range, what + " reaches to [" + text(offset) + ", " +
                                      (bytes == kUnknownSize ? "?" : text(offset + bytes)) +
                                      ") of " + name_of_buffer(buffer) + ", which has " +
                                      text(size) + " bytes.");
  }
}

// Commands outside of passes.

void Judge::Impl::on(const Copied& call) {
  const std::string what = "Copy " + text(copies_++);
  encoder_for_command(call.encoder, what);
  use_buffer(call.encoder, call.source);
  use_buffer(call.encoder, call.target);
  if (call.source == call.target) {
    violation(Rule::copy_within_buffer, what + " has " + name_of_buffer(call.source) +
                                            " on both sides: [" + text(call.source_offset) + ", +" +
                                            text(call.bytes) + ") to " + text(call.target_offset) +
                                            ".");
  }
  check_multiple(call.source_offset, kWord, "source offset", what);
  check_multiple(call.target_offset, kWord, "target offset", what);
  check_multiple(call.bytes, kWord, "size", what);
  check_range(call.source, call.source_offset, call.bytes, what);
  check_range(call.target, call.target_offset, call.bytes, what);
  check_usage(call.source, usage::kCopySource, "a copy's source", what);
  check_usage(call.target, usage::kCopyTarget, "a copy's target", what);
}

void Judge::Impl::on(const Cleared& call) {
  const std::string what = "Clear " + text(clears_++);
  encoder_for_command(call.encoder, what);
  use_buffer(call.encoder, call.buffer);
  check_multiple(call.offset, kWord, "offset", what);
  check_multiple(call.bytes, kWord, "size", what);
  check_range(call.buffer, call.offset, call.bytes, what);
  check_usage(call.buffer, usage::kCopyTarget, "a clear's target", what);
}

void Judge::Impl::on(const Resolved& call) {
  constexpr std::uint64_t kResolveAlignment = 256;
  const std::string what = "A query set's resolve";
  encoder_for_command(call.encoder, what);
  use_buffer(call.encoder, call.buffer);
  check_multiple(call.offset, kResolveAlignment, "offset", what);
  check_range(call.buffer, call.offset, call.bytes, what);
  check_usage(call.buffer, usage::kQueryResolve, "a query's target", what);
}

// Dispatches.

void Judge::Impl::on(const Dispatched& call) { dispatch(call.pass, nullptr); }
void Judge::Impl::on(const DispatchedIndirect& call) { dispatch(call.pass, &call); }

void Judge::Impl::dispatch(ObjectId pass_id, const DispatchedIndirect* indirect) {
  std::string where = "Dispatch " + text(verdict.dispatches++);
  const Pass* pass = pass_for_command(pass_id, where);
  if (pass == nullptr) return;
  const auto pipeline = pipelines_.find(pass->pipeline);
  if (pipeline == pipelines_.end()) {
    violation(Rule::command_order,
              where + " in pass " + text(pass_id) + " has no pipeline that was seen being made.");
    return;
  }
  where += " (" + named("pipeline", pass->pipeline, pipeline->second.made.label) + ", pass " +
           text(pass_id) + ")";

  std::vector<Use> uses;
  collect_groups(*pass, pipeline->second, where, uses);
  if (indirect != nullptr) {
    constexpr std::uint64_t kArguments = 12;
    use_buffer(pass->encoder, indirect->buffer);
    check_multiple(indirect->offset, kWord, "indirect offset", where);
    check_range(indirect->buffer, indirect->offset, kArguments, where + " by its arguments");
    check_usage(indirect->buffer, usage::kIndirect, "indirect arguments", where);
    uses.push_back({UseKind::indirect, indirect->buffer, name_of_buffer(indirect->buffer), 0, 0,
                    indirect->offset, kArguments});
  }
  const auto encoder = encoders_.find(pass->encoder);
  const ObjectId device = encoder == encoders_.end() ? 0 : encoder->second.device;
  judging::check_sharing(uses, storage_alignment(device), where, verdict.violations);
  check_declared(pipeline->second, uses, where);
}

void Judge::Impl::collect_groups(const Pass& pass, const Pipeline& pipeline,
                                 const std::string& where, std::vector<Use>& uses) {
  const auto layout = pipeline_layouts_.find(pipeline.made.layout);
  if (layout == pipeline_layouts_.end()) {  // derived from the shader: all that is set counts
    for (const auto& [index, set] : pass.groups) {
      if (set.group != 0) collect_group(index, set, 0, where, uses);
    }
    return;
  }
  // Groups beyond the pipeline's layout are not used by it.
  for (std::uint32_t i = 0; i < layout->second.groups.size(); ++i) {
    const ObjectId expected = layout->second.groups[i];
    const auto known = layouts_.find(expected);
    if (known != layouts_.end() && known->second.known && known->second.entries.empty()) continue;
    const auto set = pass.groups.find(i);
    if (set == pass.groups.end() || set->second.group == 0) {
      violation(Rule::bind_group, where + " has no living bind group at index " + text(i) + ".");
      continue;
    }
    collect_group(i, set->second, expected, where, uses);
  }
}

bool Judge::Impl::same_layout(ObjectId a, ObjectId b) const {
  if (a == b) return true;
  const auto one = layouts_.find(a);
  const auto two = layouts_.find(b);
  if (one == layouts_.end() || two == layouts_.end()) return false;
  return std::ranges::equal(one->second.entries, two->second.entries,
                            [](const LayoutEntry& x, const LayoutEntry& y) {
                              return x.binding == y.binding && x.type == y.type &&
                                     x.dynamic == y.dynamic && x.least_bytes == y.least_bytes;
                            });
}

void Judge::Impl::collect_group(std::uint32_t index, const SetGroup& set, ObjectId expected,
                                const std::string& where, std::vector<Use>& uses) {
  const auto found = groups_.find(set.group);
  const std::string at = where + ", group " + text(index) + ",";
  if (found == groups_.end()) {
    violation(Rule::bind_group, at + " is a bind group that was never seen being made.");
    return;
  }
  const GroupMade& group = found->second.made;
  const auto layout = layouts_.find(group.layout);
  if (layout == layouts_.end() || !layout->second.known) {
    violation(Rule::bind_group, at + " has a layout whose binding types were not seen.");
    return;
  }
  if (expected != 0 && !same_layout(expected, group.layout)) {
    violation(Rule::bind_group, at + " has another layout than the pipeline.");
    return;
  }
  std::size_t next_dynamic = 0;
  for (const LayoutEntry& entry : layout->second.entries) {
    if (entry.type == BindingType::other) continue;
    std::uint64_t dynamic_offset = 0;
    if (entry.dynamic) {
      if (next_dynamic < set.dynamic_offsets.size()) {
        dynamic_offset = set.dynamic_offsets[next_dynamic];
      }
      ++next_dynamic;
    }
    const auto bound = std::ranges::find(group.entries, entry.binding, &GroupEntry::binding);
    if (bound == group.entries.end() || bound->buffer == 0) {
      violation(Rule::bind_group,
                at + " has no living buffer at binding " + text(entry.binding) + ".");
      continue;
    }
    UseKind kind = UseKind::uniform;
    if (entry.type == BindingType::storage) kind = UseKind::writable;
    if (entry.type == BindingType::read_only_storage) kind = UseKind::read_only;
    Use use{kind,        bound->buffer, name_of_buffer(bound->buffer),
            index,       entry.binding, bound->offset + dynamic_offset,
            bound->bytes};
    check_binding(entry, use, where);
    if (use.bytes != kUnknownSize) uses.push_back(std::move(use));
  }
  if (next_dynamic != set.dynamic_offsets.size()) {
    violation(Rule::bind_group, at + " was set with " + text(set.dynamic_offsets.size()) +
                                    " dynamic offsets, its layout has " + text(next_dynamic) + ".");
  }
}

void Judge::Impl::check_binding(const LayoutEntry& entry, const Use& use,
                                const std::string& where) {
  const std::string what = where + ", " + described(use) + ",";
  const bool uniform = use.kind == UseKind::uniform;
  const auto buffer = buffers_.find(use.buffer);
  const ObjectId device = buffer == buffers_.end() ? 0 : buffer->second.made.device;
  check_multiple(use.offset, uniform ? uniform_alignment(device) : storage_alignment(device),
                 "offset", what);
  if (!uniform) check_multiple(use.bytes, kWord, "size", what);
  check_range(use.buffer, use.offset, use.bytes, what);
  const std::uint64_t least = std::max<std::uint64_t>(entry.least_bytes, 1);
  if (use.bytes < least) {
    violation(Rule::out_of_range, what + " has " + text(use.bytes) +
                                      " bytes, its layout asks for " + text(least) + ".");
  }
  if (uniform) {
    check_usage(use.buffer, usage::kUniform, "uniform", what);
  } else {
    check_usage(use.buffer, usage::kStorage, "storage", what);
  }
}

void Judge::Impl::check_declared(const Pipeline& pipeline, const std::vector<Use>& uses,
                                 const std::string& where) {
  const auto declared =
      std::ranges::find(options.declared, pipeline.made.label, &DeclaredPipeline::label);
  if (declared == options.declared.end()) {
    if (options.declarations == JudgeOptions::Declared::all) {
      violation(Rule::undeclared_pipeline, where + " runs a pipeline that no declaration names.");
    }
    return;
  }
  const bool promoted =
      std::ranges::none_of(uses, [](const Use& use) { return use.kind == UseKind::read_only; });
  if (promoted && options.promotions == JudgeOptions::Promotions::allowed) return;
  for (const DeclaredPipeline::Binding& read : declared->reads) {
    for (const Use& use : uses) {
      if (use.kind == UseKind::writable && use.group == read.group && use.binding == read.binding) {
        violation(Rule::input_not_read_only, where + " binds " + use.buffer_name + " at " +
                                                 described(use) + ", which is declared as read.");
      }
    }
  }
}

}  // namespace berth::test
