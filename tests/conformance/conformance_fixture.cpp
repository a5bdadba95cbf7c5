// SPDX-License-Identifier: Apache-2.0
#include "conformance_fixture.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "client/fill_kernel.hpp"
#include "fuzz/fuzz_kernels.hpp"
#include "support/wgpu_judge.hpp"
#include "support/wgpu_judge_kernels.hpp"

namespace berth::conformance {

test::JudgeOptions judge_options() {
  test::JudgeOptions options;
  options.declared = test::declared(test::integer_kernels());
  options.declared.push_back(test::declared(client::fill_kernel()));
  for (const Kernel& kernel :
       {fuzz::add_kernel(), fuzz::increment_kernel(), fuzz::fork_kernel(), fuzz::scatter_kernel(),
        fuzz::accumulate_kernel(), fuzz::gated_kernel()}) {
    options.declared.push_back(test::declared(kernel));
  }
  options.declarations = test::JudgeOptions::Declared::all;
  return options;
}

namespace {

/// The process's clients, one a policy, and what watches them.
class Watched : public testing::Environment {
 public:
  static Watched& get() {
    static auto* self = new Watched;  // owned by GoogleTest
    return *self;
  }

  void SetUp() override {
    const std::string_view library = runtime_under_test().library;
    if (library.empty()) return;
    recorder_.emplace(library);
    judge_.emplace(judge_options());
  }

  void TearDown() override {
    clients_.clear();
    if (!judge_) return;
    judge_->read(recorder_->take());
    const test::Verdict verdict = judge_->finish();
    for (std::size_t i = seen_; i < verdict.violations.size(); ++i) {
      ADD_FAILURE() << "at the end: " << name_of(verdict.violations[i].rule) << ": "
                    << verdict.violations[i].text;
    }
    EXPECT_EQ(recorder_->counts().buffers_alive, 0U);
    recorder_.reset();
  }

  [[nodiscard]] ConnectOptions options(Policy policy) {
    ConnectOptions options = runtime_under_test().options();
    options.policy = policy;
    if (recorder_) {
      options.webgpu.library.clear();
      options.webgpu.get_proc = test::recording_get_proc;
      options.webgpu.get_proc_user = &*recorder_;
    }
    return options;
  }

  [[nodiscard]] std::shared_ptr<Client> client(Policy policy) {
    std::shared_ptr<Client>& shared = clients_[policy];
    if (shared == nullptr) shared = std::make_shared<Client>(connect(options(policy)));
    return shared;
  }
  void forget(Policy policy) { clients_.erase(policy); }

  void begin_test() {
    if (recorder_) part_ = recorder_->take();
    if (judge_) judge_->read(part_);
    part_ = {};
  }
  [[nodiscard]] const test::Recording& part() {
    if (recorder_) {
      test::Recording more = recorder_->take();
      judge_->read(more);
      part_.calls.insert(part_.calls.end(), std::make_move_iterator(more.calls.begin()),
                         std::make_move_iterator(more.calls.end()));
    }
    return part_;
  }
  void end_test(const std::vector<test::Rule>& ignored) {
    static_cast<void>(part());
    if (!judge_) return;
    const test::Verdict& verdict = judge_->verdict();
    for (; seen_ < verdict.violations.size(); ++seen_) {
      const test::Violation& violation = verdict.violations[seen_];
      if (std::ranges::find(ignored, violation.rule) != ignored.end()) continue;
      ADD_FAILURE() << "the judge: " << name_of(violation.rule) << ": " << violation.text;
    }
    EXPECT_EQ(recorder_->counts().buffer_bytes_alive, 0U) << "device memory is left over";
  }
  [[nodiscard]] std::optional<Bytes> bytes_made() const {
    if (!recorder_) return std::nullopt;
    return recorder_->counts().buffer_bytes_alive;
  }

 private:
  std::optional<test::Recorder> recorder_;
  std::optional<test::Judge> judge_;
  std::size_t seen_ = 0;  // violations that were reported
  test::Recording part_;
  std::map<Policy, std::shared_ptr<Client>> clients_;
};

testing::Environment* const kWatched = testing::AddGlobalTestEnvironment(&Watched::get());

std::string name_without_parameters(const testing::TestInfo& info) {
  std::string suite = info.test_suite_name();
  suite.erase(0, suite.find('/') + 1);
  std::string name = info.name();
  name.resize(std::min(name.size(), name.find('/')));
  return suite + "." + name;
}

TEST(Registration, ExcludesOnlyTestsThatExist) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      names.insert(name_without_parameters(*suite.GetTestInfo(t)));
    }
  }
  for (const Exclusion& exclusion : runtime_under_test().exclusions) {
    EXPECT_TRUE(names.contains(std::string(exclusion.test))) << exclusion.test;
    EXPECT_FALSE(exclusion.reason.empty()) << exclusion.test;
  }
}

}  // namespace

void Conformance::SetUp() {
  const std::string name =
      name_without_parameters(*testing::UnitTest::GetInstance()->current_test_info());
  for (const Exclusion& exclusion : runtime().exclusions) {
    if (exclusion.test == name) GTEST_SKIP() << exclusion.reason;
  }
  Watched::get().begin_test();
  client_ = Watched::get().client(policy());
}

void Conformance::TearDown() {
  if (client_ == nullptr) return;
  try {
    client_->discard();
    client_->sync();
    expect_adds_up(client_->report());
    EXPECT_EQ(client_->report().persistent, 0U) << to_text(client_->report());
    client_->trim();
    EXPECT_EQ(client_->report().reserved, 0U) << to_text(client_->report());
  } catch (const Error& error) {
    ADD_FAILURE() << "the client does not recover: " << error.what();
  }
  client_.reset();
  if (HasFailure()) Watched::get().forget(policy());
  // The baseline binds read_write on purpose.
  if (policy() == Policy::read_write) ignored_.push_back(test::Rule::input_not_read_only);
  Watched::get().end_test(ignored_);
}

ConnectOptions Conformance::options() const { return Watched::get().options(policy()); }

test::Recording Conformance::recording() { return Watched::get().part(); }

std::optional<Bytes> Conformance::buffer_bytes() { return Watched::get().bytes_made(); }

Handle Conformance::tensor(const Words& words, const std::string& label) {
  return client().create(words, {.label = label});
}
Handle Conformance::empty(std::size_t words, const std::string& label) {
  return client().empty(Bytes{4} * words, {.label = label});
}

Words Conformance::read(const Binding& source) {
  return client().read<std::uint32_t>(source).get();
}

void Conformance::expect_words(const Binding& source, const Words& expected) {
  expect_words(client().read<std::uint32_t>(source), expected);
}

void Conformance::expect_words(const Readback<std::uint32_t>& result, const Words& expected,
                               std::size_t part) {
  const Words found = result.get(part);
  ASSERT_EQ(found.size(), expected.size());
  if (!computes() || found == expected) return;
  const auto [f, e] = std::mismatch(found.begin(), found.end(), expected.begin());
  ADD_FAILURE() << "word " << f - found.begin() << " of " << found.size() << " is " << *f
                << ", expected " << *e;
}

void Conformance::launch_copy(const Binding& x, const Binding& out, std::size_t words) {
  const auto n = static_cast<std::uint32_t>(words);
  client().launch(test::copy_kernel(), cover(n, kGroup), {x, out}, test::Count{n});
}

void Conformance::launch_scale(const Binding& x, const Binding& out, std::size_t words,
                               std::uint32_t factor, std::uint32_t offset) {
  const auto n = static_cast<std::uint32_t>(words);
  client().launch(test::scale_kernel(), cover(n, kGroup), {x, out}, test::Scale{factor, offset, n});
}

Words counted(std::size_t words, std::uint32_t begin, std::uint32_t step) {
  Words out(words);
  for (std::uint32_t& word : out) {
    word = begin;
    begin += step;
  }
  return out;
}

Words scaled(Words words, std::uint32_t factor, std::uint32_t offset) {
  for (std::uint32_t& word : words) word = word * factor + offset;
  return words;
}

std::string error_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_STREQ(name_of(error.code()), name_of(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown; expected " << name_of(code);
  return "";
}

void expect_adds_up(const Report& report) {
  Bytes reserved = 0;
  Bytes live = 0;
  Bytes idle = 0;
  Bytes padding = 0;
  for (const PoolReport& pool : report.pools) {
    EXPECT_EQ(pool.live + pool.idle + pool.padding, pool.reserved) << pool.name;
    reserved += pool.reserved;
    live += pool.live;
    idle += pool.idle;
    padding += pool.padding;
  }
  EXPECT_EQ(report.reserved, reserved);
  EXPECT_EQ(report.live, live);
  EXPECT_EQ(report.idle, idle);
  EXPECT_EQ(report.padding, padding);
}

std::string name_of_policy(const testing::TestParamInfo<Policy>& info) {
  return name_of(info.param);
}

}  // namespace berth::conformance
