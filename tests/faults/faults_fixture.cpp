// SPDX-License-Identifier: Apache-2.0
#include "faults_fixture.hpp"

#include "fuzz/fuzz_kernels.hpp"
#include "runtime/registry.hpp"

namespace berth::faults {

namespace {

constexpr std::uint32_t kWords = 1000;
constexpr std::size_t kTasks = 20;

void add(Client& client, const Handle& a, const Handle& b, const Handle& out) {
  client.launch(fuzz::add_kernel(), cover(kWords, 64), {a, b, out}, fuzz::FuzzUniforms{1, kWords});
}

Words counted(std::uint32_t begin) {
  Words words(kWords);
  for (std::uint32_t& word : words) word = begin++;
  return words;
}

}  // namespace

std::size_t Rig::struck_submits_ = 0;

Rig::Rig(Expect expect, Bytes budget) : expect_(expect) {
  ConnectOptions options = conformance::runtime_under_test().options();
  options.budget = budget;
  if (has_library()) {
    table_.emplace(conformance::runtime_under_test().library);
    recorder_.emplace(test::FaultyTable::get_proc, &*table_);
    options.webgpu.library.clear();
    options.webgpu.get_proc = test::recording_get_proc;
    options.webgpu.get_proc_user = &*recorder_;
  }
  core_ = std::make_shared<client::Core>(options, runtime::make_backend(options));
  client_.emplace(core_);
}

Rig::~Rig() {
  client_.reset();
  core_.reset();
  if (!recorder_) return;
  test::JudgeOptions options;
  if (expect_ == Expect::errors) options.errors = test::JudgeOptions::Errors::expected;
  options.promotions = test::JudgeOptions::Promotions::allowed;
  const test::Verdict verdict = test::judge(recorder_->recording(), options);
  std::size_t struck_submits = 0;
  for (const test::Violation& violation : verdict.violations) {
    // The fault struck the submission itself: nobody could know before, and no scope is open.
    const bool at_submit = violation.rule == test::Rule::submit_after_loss ||
                           violation.rule == test::Rule::uncaptured_error;
    if (expect_ == Expect::errors && at_submit && struck_submits++ == 0) continue;
    ADD_FAILURE() << "the judge: " << name_of(violation.rule) << ": " << violation.text;
  }
  struck_submits_ += struck_submits;
  EXPECT_EQ(recorder_->counts().buffers_alive, 0U);
}

void Rig::expect_exact() {
  const Report report = client_->report();
  Bytes reserved = 0;
  for (const PoolReport& pool : report.pools) {
    EXPECT_EQ(pool.live + pool.idle + pool.padding, pool.reserved) << pool.name;
    reserved += pool.reserved;
  }
  EXPECT_EQ(report.reserved, reserved);
  if (recorder_) {
    EXPECT_EQ(report.reserved, recorder_->counts().buffer_bytes_alive) << to_text(report);
  }
  const auto lock = core_->lock();
  EXPECT_EQ(core_->manager().check(), std::nullopt);
}

Work begin(Client& client) {
  Work work;
  work.kept = client.create(counted(1), {.label = "kept"});
  client.sync();
  return work;
}

void record(Client& client, Work& work) {
  work.uploaded = client.empty(4 * kWords, {.label = "uploaded"});
  client.upload(work.uploaded, std::span<const std::uint32_t>(counted(5)));
  work.large = client.empty(kMiB, {.label = "large"});
  client.fill(work.large, 3);
  work.values = {work.uploaded};
  for (std::size_t task = 2; task < kTasks; ++task) {
    work.values.push_back(client.empty(4 * kWords, {.label = "value"}));
    const Handle& last = work.values[work.values.size() - 2];
    if (task % 5 == 0) {
      client.copy(last, work.values.back());
    } else {
      add(client, last, work.kept, work.values.back());
    }
  }
}

void expect_done(Client& client, const Work& work) {
  Words expected = counted(5);
  for (std::size_t task = 2; task < kTasks; ++task) {
    if (task % 5 == 0) continue;
    for (std::uint32_t i = 0; i < kWords; ++i) expected[i] += i + 2;
  }
  const Words found = client.read<std::uint32_t>(work.values.back()).get();
  if (computes()) {
    EXPECT_EQ(found, expected);
  }
  const Words kept = client.read<std::uint32_t>(work.kept).get();
  if (computes()) {
    EXPECT_EQ(kept, counted(1));
  }
}

}  // namespace berth::faults
