// SPDX-License-Identifier: Apache-2.0
//
// Recordings by hand, for the judge's tests: a device with two buffers and a kernel with a
// read-only and a writable binding. Each method appends calls; what is wrong is what the test
// appends.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/wgpu_recording.hpp"

namespace berth::test {

class RecordingBuilder {
 public:
  // Numbers of the objects that are there from the start.
  static constexpr ObjectId kPageA = 1;
  static constexpr ObjectId kPageB = 2;
  static constexpr ObjectId kStaging = 3;
  static constexpr ObjectId kUniforms = 4;
  static constexpr ObjectId kPipeline = 1;
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::uint64_t kAlignment = 256;

  RecordingBuilder() {
    add(DeviceSeen{1, kAlignment, kAlignment});
    constexpr std::uint64_t kPage =
        usage::kStorage | usage::kCopySource | usage::kCopyTarget | usage::kIndirect;
    add(BufferMade{kPageA, 1, kPageBytes, kPage, false, "page a"});
    add(BufferMade{kPageB, 1, kPageBytes, kPage, false, "page b"});
    add(BufferMade{kStaging, 1, kPageBytes, usage::kMapRead | usage::kCopyTarget, false,
                   "staging"});
    add(BufferMade{kUniforms, 1, kPageBytes, usage::kUniform | usage::kStorage, false, "uniforms"});
    add(LayoutMade{
        1,
        {{0, BindingType::read_only_storage, false, 4}, {1, BindingType::storage, false, 4}},
        true});
    add(LayoutMade{2, {{0, BindingType::storage}, {1, BindingType::storage}}, true});
    add(LayoutMade{3, {{0, BindingType::uniform, true, 16}}, true});
    add(PipelineLayoutMade{1, {1}});
    add(PipelineLayoutMade{2, {2}});
    add(PipelineLayoutMade{3, {1, 3}});
    add(PipelineMade{kPipeline, 1, "add", "main"});
    add(PipelineMade{2, 2, "two_outputs", "main"});
    add(PipelineMade{3, 3, "scale", "main"});
  }

  template <class T>
  RecordingBuilder& add(T call) {
    recording_.calls.emplace_back(std::move(call));
    return *this;
  }

  /// A bind group of two bindings with the given layout.
  ObjectId group(ObjectId layout, GroupEntry first, GroupEntry second) {
    first.binding = 0;
    second.binding = 1;
    add(GroupMade{++groups_, layout, {first, second}, ""});
    return groups_;
  }
  ObjectId uniform_group(std::uint64_t offset, std::uint64_t bytes, ObjectId buffer = kUniforms) {
    add(GroupMade{++groups_, 3, {{0, buffer, offset, bytes}}, ""});
    return groups_;
  }

  RecordingBuilder& begin() {
    add(EncoderMade{++encoders_, 1, ""});
    add(PassBegun{++passes_, encoders_, ""});
    return *this;
  }
  RecordingBuilder& set(ObjectId pipeline, ObjectId group,
                        std::vector<std::uint32_t> dynamic_offsets = {}) {
    add(PipelineSet{passes_, pipeline});
    add(GroupSet{passes_, 0, group, std::move(dynamic_offsets)});
    return *this;
  }
  RecordingBuilder& set_uniforms(ObjectId group, std::vector<std::uint32_t> dynamic_offsets) {
    return add(GroupSet{passes_, 1, group, std::move(dynamic_offsets)});
  }
  RecordingBuilder& dispatch() { return add(Dispatched{passes_, 1, 1, 1}); }
  RecordingBuilder& end() { return add(PassEnded{passes_}); }
  /// In a validation scope, which answers `error`.
  RecordingBuilder& finish(const char* error = "") {
    add(ScopePushed{1, ErrorFilter::validation});
    add(Finished{encoders_, ++commands_, ""});
    add(ScopePopped{1, ++answers_});
    return add(ScopeAnswered{answers_, error});
  }
  RecordingBuilder& submit() { return add(Submitted{{commands_}}); }

  /// One whole good window: page a is read, page b written.
  RecordingBuilder& good_window() {
    const ObjectId operands = group(1, {0, kPageA, 0, 256}, {0, kPageB, 256, 256});
    return begin().set(kPipeline, operands).dispatch().end().finish().submit();
  }

  [[nodiscard]] ObjectId pass() const { return passes_; }
  [[nodiscard]] ObjectId encoder() const { return encoders_; }
  [[nodiscard]] ObjectId commands() const { return commands_; }
  [[nodiscard]] const Recording& recording() const { return recording_; }

 private:
  Recording recording_;
  ObjectId groups_ = 0;
  ObjectId encoders_ = 0;
  ObjectId passes_ = 0;
  ObjectId commands_ = 0;
  ObjectId answers_ = 0;
};

}  // namespace berth::test
