// SPDX-License-Identifier: Apache-2.0
//
// What the judge knows after the calls so far, and what it does at each. Private to the judge:
// wgpu_judge_commands.cpp has the rules of commands, wgpu_judge_submits.cpp those of errors, host
// access and submissions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/wgpu_judge.hpp"
#include "support/wgpu_judge_dispatch.hpp"
#include "support/wgpu_recording.hpp"

namespace berth::test {

class Judge::Impl {
 public:
  explicit Impl(JudgeOptions given) : options(std::move(given)) {}

  void on(const DeviceSeen& call);
  void on(const DeviceWasLost& call);
  void on(const BufferMade& call);
  void on(const BufferDestroyed& call);
  void on(const BufferReleased& call);
  void on(const BufferWritten& call);
  void on(const MapAsked& call);
  void on(const MapAnswered& call);
  void on(const Unmapped& call);
  void on(const LayoutMade& call);
  void on(const PipelineLayoutMade& call);
  void on(const PipelineMade& call);
  void on(const GroupMade& call);
  void on(const EncoderMade& call);
  void on(const PassBegun& call);
  void on(const PipelineSet& call);
  void on(const GroupSet& call);
  void on(const Dispatched& call);
  void on(const DispatchedIndirect& call);
  void on(const PassEnded& call);
  void on(const Copied& call);
  void on(const Cleared& call);
  void on(const Resolved& call);
  void on(const Finished& call);
  void on(const Submitted& call);
  void on(const ScopePushed& call);
  void on(const ScopePopped& call);
  void on(const ScopeAnswered& call);
  void on(const ErrorUncaptured& call);
  void check_scopes_closed();

  JudgeOptions options;
  Verdict verdict;

 private:
  /// Scopes that were open when something was made, innermost last; indices into scopes_.
  using OpenScopes = std::vector<std::size_t>;

  struct Scope {
    ObjectId device = 0;
    ErrorFilter filter = ErrorFilter::validation;
    ObjectId answer = 0;
    bool answered = false;
    std::string error;
  };
  enum class HostState : std::uint8_t { unmapped, pending, mapped };
  struct Buffer {
    BufferMade made;
    OpenScopes scopes;
    HostState host = HostState::unmapped;
    std::uint32_t aborted = 0;  ///< maps given up by unmap, whose answers may still come
    bool destroyed = false;
    bool released = false;
  };
  struct Group {
    GroupMade made;
    OpenScopes scopes;
  };
  struct Pipeline {
    PipelineMade made;
    OpenScopes scopes;
  };
  struct Encoder {
    ObjectId device = 0;
    std::set<ObjectId> buffers;
    std::set<ObjectId> groups;
    std::set<ObjectId> pipelines;
    std::uint32_t open_passes = 0;
  };
  struct SetGroup {
    ObjectId group = 0;
    std::vector<std::uint32_t> dynamic_offsets;
  };
  struct Pass {
    ObjectId encoder = 0;
    ObjectId pipeline = 0;
    std::map<std::uint32_t, SetGroup> groups;
  };
  struct Commands {
    Encoder content;
    OpenScopes scopes;
  };

  void violation(Rule rule, std::string text);
  [[nodiscard]] std::string name_of_buffer(ObjectId buffer) const;

  // wgpu_judge_commands.cpp
  void dispatch(ObjectId pass, const DispatchedIndirect* indirect);
  void collect_groups(const Pass& pass, const Pipeline& pipeline, const std::string& where,
                      std::vector<judging::Use>& uses);
  void collect_group(std::uint32_t index, const SetGroup& set, ObjectId expected_layout,
                     const std::string& where, std::vector<judging::Use>& uses);
  void check_binding(const LayoutEntry& entry, const judging::Use& use, const std::string& where);
  [[nodiscard]] bool same_layout(ObjectId a, ObjectId b) const;
  void check_declared(const Pipeline& pipeline, const std::vector<judging::Use>& uses,
                      const std::string& where);
  void check_range(ObjectId buffer, std::uint64_t offset, std::uint64_t bytes,
                   const std::string& what);
  void check_usage(ObjectId buffer, std::uint64_t needed, const char* name,
                   const std::string& what);
  void check_multiple(std::uint64_t value, std::uint64_t step, const char* name,
                      const std::string& what);
  Encoder* encoder_for_command(ObjectId encoder, const std::string& what);
  Pass* pass_for_command(ObjectId pass, const std::string& what);
  void use_buffer(ObjectId encoder, ObjectId buffer);
  [[nodiscard]] std::uint64_t storage_alignment(ObjectId device) const;
  [[nodiscard]] std::uint64_t uniform_alignment(ObjectId device) const;

  // wgpu_judge_submits.cpp
  [[nodiscard]] OpenScopes open_scopes() const;
  /// The first error caught where the thing was made, or "".
  [[nodiscard]] std::string error_of(const OpenScopes& scopes) const;
  void check_made_in(const OpenScopes& scopes, const std::string& where);
  void check_submitted_buffer(ObjectId buffer, const std::string& where);
  void check_finish_scope(const Commands& commands, const std::string& where);

  std::map<ObjectId, DeviceSeen> devices_;
  std::map<ObjectId, Buffer> buffers_;
  std::map<ObjectId, LayoutMade> layouts_;
  std::map<ObjectId, PipelineLayoutMade> pipeline_layouts_;
  std::map<ObjectId, Pipeline> pipelines_;
  std::map<ObjectId, Group> groups_;
  std::map<ObjectId, Encoder> encoders_;
  std::map<ObjectId, Pass> passes_;
  std::map<ObjectId, Commands> commands_;
  std::vector<Scope> scopes_;
  std::map<ObjectId, std::vector<std::size_t>> open_;  // by device, innermost last
  std::set<ObjectId> lost_;                            // devices
  std::uint64_t copies_ = 0;
  std::uint64_t clears_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t submits_ = 0;
};

}  // namespace berth::test
