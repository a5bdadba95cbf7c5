// SPDX-License-Identifier: Apache-2.0
//
// Recordings that break one rule each, and good ones beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording_builder.hpp"
#include "support/wgpu_judge.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;
using B = RecordingBuilder;

// The rule and nothing else is broken, once; the sentence says where.
testing::AssertionResult breaks_only(const Verdict& verdict, Rule rule, const char* says) {
  if (verdict.violations.size() != 1 || verdict.violations[0].rule != rule) {
    return testing::AssertionFailure() << "the judge says:\n" << verdict.text();
  }
  if (verdict.violations[0].text.find(says) == std::string::npos) {
    return testing::AssertionFailure() << verdict.text() << "does not say: " << says;
  }
  return testing::AssertionSuccess();
}

Verdict judged(const B& builder, JudgeOptions options = {}) {
  return judge(builder.recording(), std::move(options));
}

// One dispatch of "add" with these operands, finished and submitted.
B window_of(GroupEntry read, GroupEntry written) {
  B b;
  const ObjectId operands = b.group(1, read, written);
  b.begin().set(B::kPipeline, operands).dispatch().end().finish().submit();
  return b;
}
B window_of_two_outputs(GroupEntry first, GroupEntry second) {
  B b;
  const ObjectId operands = b.group(2, first, second);
  b.begin().set(2, operands).dispatch().end().finish().submit();
  return b;
}

TEST(JudgeAccepts, AWindowWithReadAndWrittenPagesApart) {
  B b;
  const Verdict verdict = judged(b.good_window().good_window());
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.dispatches, 2U);
  EXPECT_EQ(verdict.submitted, 2U);
}

TEST(JudgeAccepts, OverlappingReadOnlyRanges) {
  B b;
  b.add(LayoutMade{
      9, {{0, BindingType::read_only_storage}, {1, BindingType::read_only_storage}}, true});
  b.add(PipelineLayoutMade{9, {9}}).add(PipelineMade{9, 9, "norm", "main"});
  const ObjectId operands = b.group(9, {0, B::kPageA, 0, 512}, {0, B::kPageA, 256, 512});
  b.begin().set(9, operands).dispatch().end().finish().submit();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
}

TEST(JudgeAccepts, DisjointWritableRangesOfOnePage) {
  const B b = window_of_two_outputs({0, B::kPageA, 0, 256}, {0, B::kPageA, 256, 256});
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
}

TEST(JudgeAccepts, ADispatchThatOnlySetsAnotherGroupThanThePipelineUses) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  const ObjectId beyond = b.group(1, {0, B::kPageB, 0, 256}, {0, B::kPageA, 0, 256});
  b.begin().set(B::kPipeline, operands).add(GroupSet{b.pass(), 1, beyond, {}});
  b.dispatch().end().finish().submit();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
}

TEST(JudgeAccepts, DynamicOffsetsUniformsIndirectAndReadback) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  const ObjectId uniforms = b.uniform_group(0, 16);
  b.begin().set(3, operands).set_uniforms(uniforms, {512});
  b.add(DispatchedIndirect{b.pass(), B::kPageA, 1024}).end();
  b.add(Copied{b.encoder(), B::kPageB, 0, B::kStaging, 0, 256}).finish().submit();
  b.add(MapAsked{B::kStaging, 0, 256}).add(MapAnswered{B::kStaging, true, ""});
  b.add(Unmapped{B::kStaging}).good_window();
  b.add(BufferDestroyed{B::kStaging}).add(BufferReleased{B::kStaging}).good_window();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
}

TEST(JudgeAccepts, AMapThatWasGivenUp) {
  B b;
  b.add(MapAsked{B::kStaging, 0, 256}).add(Unmapped{B::kStaging});
  b.add(MapAnswered{B::kStaging, false, "aborted"}).add(MapAsked{B::kStaging, 0, 256});
  b.add(MapAnswered{B::kStaging, true, ""}).add(Unmapped{B::kStaging});
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
}

TEST(JudgeAccepts, AnErrorAfterWhichNothingOfItIsSubmitted) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  b.begin().set(B::kPipeline, operands).dispatch().end().finish("refused").good_window();
  const Verdict verdict = judged(b, {.errors = JudgeOptions::Errors::expected});
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

// One dispatch, one buffer.

TEST(JudgeRejects, APageReadAndWrittenWhateverTheRanges) {
  const B b = window_of({0, B::kPageA, 0, 256}, {0, B::kPageA, 2048, 256});
  EXPECT_TRUE(
      breaks_only(judged(b), Rule::writable_and_other_use,
                  "Dispatch 0 (pipeline 1 \"add\", pass 1) uses buffer 1 \"page a\" as "
                  "group 0 binding 1 (writable, [2048, 2304)) and also as group 0 binding 0 "
                  "(read-only, [0, 256))"));
}

TEST(JudgeRejects, APageWrittenAndBoundAsUniform) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kUniforms, 1024, 256});
  const ObjectId uniforms = b.uniform_group(0, 16);
  b.begin().set(3, operands).set_uniforms(uniforms, {0}).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::writable_and_other_use, "(uniform, [0, 16))"));
}

TEST(JudgeRejects, IndirectArgumentsOnAPageThatTheDispatchWrites) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  b.begin().set(B::kPipeline, operands).add(DispatchedIndirect{b.pass(), B::kPageB, 2048});
  b.end().finish().submit();
  EXPECT_TRUE(
      breaks_only(judged(b), Rule::writable_and_other_use, "indirect arguments [2048, 2060)"));
}

TEST(JudgeRejects, WritableRangesThatOverlap) {
  const B b = window_of_two_outputs({0, B::kPageA, 0, 512}, {0, B::kPageA, 256, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::writable_overlap, "[0, 512)"));
}

TEST(JudgeRejects, WritableRangesThatOverlapOnlyAfterRounding) {
  B b;
  b.add(DeviceSeen{1, 4, 256});  // this device takes any word; it is lowered by option
  const ObjectId operands = b.group(2, {0, B::kPageA, 0, 256}, {0, B::kPageA, 256, 4});
  const ObjectId close = b.group(2, {0, B::kPageA, 0, 4}, {0, B::kPageA, 128, 4});
  b.begin().set(2, operands).dispatch().end().finish().submit();
  EXPECT_TRUE(judged(b, {.storage_alignment = 256}).ok());
  b.begin().set(2, close).dispatch().end().finish().submit();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
  const Verdict verdict = judged(b, {.storage_alignment = 256});
  EXPECT_TRUE(verdict.broke(Rule::writable_overlap)) << verdict.text();
  EXPECT_TRUE(verdict.broke(Rule::offset_alignment)) << verdict.text();
}

TEST(JudgeRejects, ADynamicOffsetThatMovesOneOutputOntoAnother) {
  B b;
  b.add(LayoutMade{9, {{0, BindingType::storage, true}, {1, BindingType::storage}}, true});
  b.add(PipelineLayoutMade{9, {9}}).add(PipelineMade{9, 9, "split", "main"});
  const ObjectId operands = b.group(9, {0, B::kPageA, 0, 256}, {0, B::kPageA, 512, 256});
  b.begin().set(9, operands, {256}).dispatch().end().finish().submit();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
  b.begin().set(9, operands, {512}).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::writable_overlap, "Dispatch 1"));
}

// Offsets and ranges.

TEST(JudgeRejects, AnUnalignedBinding) {
  const B b = window_of({0, B::kPageA, 128, 256}, {0, B::kPageB, 0, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::offset_alignment,
                          "has the offset 128, which is no multiple of 256"));
}

TEST(JudgeRejects, AnUnalignedDynamicOffset) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  const ObjectId uniforms = b.uniform_group(0, 16);
  b.begin().set(3, operands).set_uniforms(uniforms, {64}).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::offset_alignment, "group 1 binding 0"));
}

TEST(JudgeRejects, ABindingBeyondItsBuffer) {
  const B b = window_of({0, B::kPageA, 3840, 512}, {0, B::kPageB, 0, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::out_of_range, "which has 4096 bytes"));
}

TEST(JudgeRejects, AnEmptyBinding) {
  const B b = window_of({0, B::kPageA, 0, 0}, {0, B::kPageB, 0, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::out_of_range, "has 0 bytes"));
}

TEST(JudgeRejects, ABufferThatWasNotMadeForItsUse) {
  const B b = window_of({0, B::kPageA, 0, 256}, {0, B::kStaging, 0, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::buffer_usage, "\"staging\" as storage"));
}

// Copies, clears, writes.

TEST(JudgeRejects, ACopyInsideOneBuffer) {
  B b;
  b.begin().end().add(Copied{b.encoder(), B::kPageA, 0, B::kPageA, 2048, 256}).finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::copy_within_buffer, "Copy 0"));
}

TEST(JudgeRejects, ACopyBeyondItsTarget) {
  B b;
  b.begin().end().add(Copied{b.encoder(), B::kPageA, 0, B::kPageB, 4000, 256}).finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::out_of_range, "[4000, 4256)"));
}

TEST(JudgeRejects, AClearThatIsNoMultipleOfFour) {
  B b;
  b.begin().end().add(Cleared{b.encoder(), B::kPageA, 0, 6}).finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::offset_alignment, "the size 6"));
}

// Inputs.

TEST(JudgeRejects, ADeclaredInputThatIsBoundWritable) {
  const B b = window_of_two_outputs({0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  JudgeOptions options{.declared = {{"two_outputs", {{0, 0}}}}};
  EXPECT_TRUE(breaks_only(judged(b, options), Rule::input_not_read_only, "group 0 binding 0"));
  options.promotions = JudgeOptions::Promotions::allowed;
  EXPECT_TRUE(judged(b, options).ok());
}

TEST(JudgeRejects, APipelineWithoutDeclarationWhereAllMustHaveOne) {
  B b;
  b.good_window();
  JudgeOptions options{.declarations = JudgeOptions::Declared::all};
  EXPECT_TRUE(breaks_only(judged(b, options), Rule::undeclared_pipeline, "\"add\""));
  options.declared = {{"add", {{0, 0}}}};
  EXPECT_TRUE(judged(b, options).ok());
}

// Bind groups and the order of commands.

TEST(JudgeRejects, AMissingBindGroup) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  b.begin().set(3, operands).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::bind_group, "at index 1"));
}

TEST(JudgeRejects, ABindGroupOfAnotherLayout) {
  B b;
  const ObjectId operands = b.group(2, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  b.begin().set(B::kPipeline, operands).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::bind_group, "another layout"));
}

TEST(JudgeRejects, AStaleBindGroupWhoseBufferIsReleased) {
  B b;
  b.group(1, {0, B::kPageA, 0, 256}, {0, 0, 0, 256});
  b.begin().set(B::kPipeline, 1).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::bind_group, "no living buffer at binding 1"));
}

TEST(JudgeRejects, TheWrongNumberOfDynamicOffsets) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  const ObjectId uniforms = b.uniform_group(0, 16);
  b.begin().set(3, operands).set_uniforms(uniforms, {0, 256}).dispatch().end().finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::bind_group, "2 dynamic offsets, its layout has 1"));
}

TEST(JudgeRejects, CommandsThatAreSubmittedTwice) {
  B b;
  b.good_window().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::command_order, "Submission 1"));
}

TEST(JudgeRejects, AFinishWithAnOpenPass) {
  B b;
  b.begin().finish();
  EXPECT_TRUE(breaks_only(judged(b), Rule::command_order, "1 passes open"));
}

TEST(JudgeRejects, ADispatchInAPassThatHasEnded) {
  B b;
  b.begin().end().dispatch().finish();
  EXPECT_TRUE(breaks_only(judged(b), Rule::command_order, "has ended"));
}

// Destroyed and mapped buffers.

TEST(JudgeRejects, ADestroyedBufferInASubmission) {
  B b;
  const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
  b.begin().set(B::kPipeline, operands).dispatch().end().finish();
  b.add(BufferDestroyed{B::kPageA}).submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::dead_buffer, "\"page a\", which is destroyed"));
}

TEST(JudgeRejects, AWriteToADestroyedBuffer) {
  B b;
  b.add(BufferDestroyed{B::kPageA}).add(BufferWritten{B::kPageA, 0, 16});
  EXPECT_TRUE(breaks_only(judged(b), Rule::dead_buffer, "Write 0"));
}

TEST(JudgeRejects, ABufferWithAPendingMapInASubmission) {
  B b;
  b.begin().end().add(Copied{b.encoder(), B::kPageA, 0, B::kStaging, 0, 256}).finish();
  b.add(MapAsked{B::kStaging, 1024, 256}).submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::mapped_buffer, "which is being mapped"));
}

TEST(JudgeRejects, AMappedBufferInASubmission) {
  B b;
  b.add(MapAsked{B::kStaging, 0, 256}).add(MapAnswered{B::kStaging, true, ""});
  b.begin().end().add(Copied{b.encoder(), B::kPageA, 0, B::kStaging, 0, 256}).finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::mapped_buffer, "which is mapped"));
}

TEST(JudgeRejects, ABufferMappedAtCreationThatWasNotUnmapped) {
  B b;
  b.add(BufferMade{9, 1, 256, usage::kMapWrite | usage::kCopySource, true, "upload"});
  b.begin().end().add(Copied{b.encoder(), 9, 0, B::kPageA, 0, 256}).finish().submit();
  EXPECT_TRUE(breaks_only(judged(b), Rule::mapped_buffer, "\"upload\", which is mapped"));
}

TEST(JudgeRejects, ASecondMapOfAPendingBuffer) {
  B b;
  b.add(MapAsked{B::kStaging, 0, 256}).add(MapAsked{B::kStaging, 256, 256});
  EXPECT_TRUE(breaks_only(judged(b), Rule::mapped_buffer, "already mapped"));
}

// Errors.

TEST(JudgeRejects, AnErrorWhereNoneIsExpected) {
  B b;
  b.begin().end().finish("conflicting usages");
  EXPECT_TRUE(breaks_only(judged(b), Rule::error, "conflicting usages"));
}

TEST(JudgeRejects, CommandsWhoseFinishFailed) {
  B b;
  b.begin().end().finish("conflicting usages").submit();
  EXPECT_TRUE(breaks_only(judged(b, {.errors = JudgeOptions::Errors::expected}),
                          Rule::submit_after_error,
                          "submits commands made where a scope caught: conflicting"));
}

TEST(JudgeRejects, ObjectsMadeWhereAScopeCaughtAnError) {
  const JudgeOptions options{.errors = JudgeOptions::Errors::expected};
  const auto scoped = [](B& b, const auto& call) {
    b.add(ScopePushed{1, ErrorFilter::validation}).add(call).add(ScopePopped{1, 99});
    b.add(ScopeAnswered{99, "not enough memory left"});
  };
  {
    B b;
    scoped(b, BufferMade{9, 1, 4096, usage::kCopyTarget, false, "new page"});
    b.begin().end().add(Cleared{b.encoder(), 9, 0, 4096}).finish().submit();
    EXPECT_TRUE(breaks_only(judged(b, options), Rule::submit_after_error, "\"new page\""));
  }
  {
    B b;
    scoped(b, GroupMade{7, 1, {{0, B::kPageA, 0, 256}, {1, B::kPageB, 0, 256}}, ""});
    b.begin().set(B::kPipeline, 7).dispatch().end().finish().submit();
    EXPECT_TRUE(breaks_only(judged(b, options), Rule::submit_after_error, "bind group 7"));
  }
  {
    B b;
    const ObjectId operands = b.group(1, {0, B::kPageA, 0, 256}, {0, B::kPageB, 0, 256});
    scoped(b, PipelineMade{7, 1, "broken", "main"});
    b.begin().set(7, operands).dispatch().end().finish().submit();
    EXPECT_TRUE(breaks_only(judged(b, options), Rule::submit_after_error, "pipeline 7"));
  }
}

TEST(JudgeRejects, ASubmissionBeforeTheAnswerOfItsScope) {
  B b;
  b.begin().end().add(ScopePushed{1, ErrorFilter::validation}).add(Finished{b.encoder(), 1, ""});
  b.add(ScopePopped{1, 1}).add(Submitted{{1}}).add(ScopeAnswered{1, ""});
  EXPECT_TRUE(breaks_only(judged(b), Rule::submit_without_scope, "before the answer"));
}

TEST(JudgeRejects, AFinishOutsideOfAValidationScope) {
  B b;
  b.begin().end().add(ScopePushed{1, ErrorFilter::out_of_memory}).add(Finished{b.encoder(), 1, ""});
  b.add(ScopePopped{1, 1}).add(ScopeAnswered{1, ""}).add(Submitted{{1}});
  EXPECT_TRUE(breaks_only(judged(b), Rule::submit_without_scope, "in no validation scope"));
  EXPECT_TRUE(judged(b, {.finish_scope = JudgeOptions::FinishScope::optional}).ok());
}

TEST(JudgeRejects, ASubmissionAfterTheLossOfTheDevice) {
  B b;
  b.good_window().add(DeviceWasLost{2, "another one"}).good_window();
  EXPECT_TRUE(judged(b).ok()) << judged(b).text();
  b.add(DeviceWasLost{1, "unplugged"}).good_window();
  EXPECT_TRUE(breaks_only(judged(b), Rule::submit_after_loss, "Submission 2"));
}

TEST(JudgeRejects, ErrorScopesOutOfBalance) {
  B popped;
  popped.add(ScopePopped{1, 1});
  EXPECT_TRUE(breaks_only(judged(popped), Rule::scope_balance, "where none is open"));
  B open;
  open.add(ScopePushed{1, ErrorFilter::internal});
  EXPECT_TRUE(breaks_only(judged(open), Rule::scope_balance, "1 error scopes of device 1"));
  B silent;
  silent.add(ScopePushed{1, ErrorFilter::internal}).add(ScopePopped{1, 1});
  EXPECT_TRUE(breaks_only(judged(silent), Rule::scope_balance, "never answered"));
}

TEST(JudgeRejects, AnErrorThatNoScopeCaught) {
  B b;
  b.add(ErrorUncaptured{"buffer is invalid"});
  EXPECT_TRUE(breaks_only(judged(b, {.errors = JudgeOptions::Errors::expected}),
                          Rule::uncaptured_error, "buffer is invalid"));
}

}  // namespace
}  // namespace berth::test
