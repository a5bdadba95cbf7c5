// SPDX-License-Identifier: Apache-2.0
#include "scenario_fixture.hpp"

#include <algorithm>
#include <iterator>

#include "client/fill_kernel.hpp"
#include "support/wgpu_judge_kernels.hpp"

namespace berth::scenarios {

namespace {

test::JudgeOptions judge_options() {
  test::JudgeOptions options;
  options.declared = test::declared(test::integer_kernels());
  for (const Kernel& kernel :
       {client::fill_kernel(), fuzz::add_kernel(), fuzz::increment_kernel(), fuzz::fork_kernel(),
        fuzz::scatter_kernel(), fuzz::accumulate_kernel(), fuzz::gated_kernel(),
        promotable_branch_kernel(), residual_kernel()}) {
    options.declared.push_back(test::declared(kernel));
  }
  options.declarations = test::JudgeOptions::Declared::all;
  options.promotions = test::JudgeOptions::Promotions::allowed;
  return options;
}

/// The process's client and what watches it.
class Watched : public testing::Environment {
 public:
  static Watched& get() {
    static auto* self = new Watched;  // owned by GoogleTest
    return *self;
  }

  void SetUp() override {
    const std::string_view library = conformance::runtime_under_test().library;
    if (library.empty()) return;
    recorder_.emplace(library);
    judge_.emplace(judge_options());
  }

  void TearDown() override {
    client_.reset();
    if (!judge_) return;
    judge_->read(recorder_->take());
    const test::Verdict verdict = judge_->finish();
    report_from(verdict);
    EXPECT_EQ(recorder_->counts().buffers_alive, 0U);
    recorder_.reset();
  }

  [[nodiscard]] ConnectOptions options() {
    ConnectOptions options = conformance::runtime_under_test().options();
    if (recorder_) {
      options.webgpu.library.clear();
      options.webgpu.get_proc = test::recording_get_proc;
      options.webgpu.get_proc_user = &*recorder_;
    }
    return options;
  }
  [[nodiscard]] std::shared_ptr<Client> client() {
    if (client_ == nullptr) client_ = std::make_shared<Client>(connect(options()));
    return client_;
  }
  void forget() { client_.reset(); }

  [[nodiscard]] const test::Recording& part() {
    if (recorder_) {
      test::Recording more = recorder_->take();
      judge_->read(more);
      part_.calls.insert(part_.calls.end(), std::make_move_iterator(more.calls.begin()),
                         std::make_move_iterator(more.calls.end()));
    }
    return part_;
  }
  void begin_test() {
    static_cast<void>(part());
    part_ = {};
  }
  void end_test() {
    static_cast<void>(part());
    if (!judge_) return;
    report_from(judge_->verdict());
    EXPECT_EQ(recorder_->counts().buffer_bytes_alive, 0U) << "device memory is left over";
  }
  [[nodiscard]] std::optional<Bytes> buffer_bytes() const {
    if (!recorder_) return std::nullopt;
    return recorder_->counts().buffer_bytes_alive;
  }

 private:
  void report_from(const test::Verdict& verdict) {
    for (; seen_ < verdict.violations.size(); ++seen_) {
      // The promoted form of the branch kernel is refused by uniformity analysis, as it must be.
      if (verdict.violations[seen_].rule == test::Rule::error &&
          verdict.violations[seen_].text.find("must only be called from uniform control flow") !=
              std::string::npos) {
        continue;
      }
      ADD_FAILURE() << "the judge: " << name_of(verdict.violations[seen_].rule) << ": "
                    << verdict.violations[seen_].text;
    }
  }

  std::optional<test::Recorder> recorder_;
  std::optional<test::Judge> judge_;
  std::size_t seen_ = 0;
  test::Recording part_;
  std::shared_ptr<Client> client_;
};

testing::Environment* const kWatched = testing::AddGlobalTestEnvironment(&Watched::get());

std::uint32_t words_of(std::size_t words) { return static_cast<std::uint32_t>(words); }

}  // namespace

const Kernel& promotable_branch_kernel() {
  static const Kernel kernel = [] {
    const Kernel& plain = test::branch_kernel();
    KernelSignature signature = plain.signature();
    signature.name = "scenario.branch";
    std::vector<KernelCode> codes;
    for (const Target target : {Target::wgsl, Target::cuda, Target::cpu}) {
      const KernelCode* code = plain.code(target);
      if (code == nullptr) continue;
      codes.push_back(*code);
      if (target == Target::cuda) continue;
      codes.push_back(*code);
      KernelCode& promoted = codes.back();
      promoted.variant = Variant::promoted;
      constexpr std::string_view kRead = "<storage, read>";
      for (std::size_t at = promoted.source.find(kRead); at != std::string::npos;
           at = promoted.source.find(kRead)) {
        promoted.source.replace(at, kRead.size(), "<storage, read_write>");
      }
    }
    return Kernel(std::move(signature), std::move(codes));
  }();
  return kernel;
}

const Kernel& residual_kernel() {
  static const Kernel kernel = [] {
    KernelSignature signature;
    signature.name = "scenario.residual";
    signature.bindings = {{"x", Element::u32, Access::read, 1},
                          {"counts", Element::u32, Access::write, 3}};
    signature.workgroup = {1, 1, 1};
    KernelCode wgsl;
    wgsl.source =
        "@group(0) @binding(0) var<storage, read> x: array<u32>;\n"
        "@group(0) @binding(1) var<storage, read_write> counts: array<u32>;\n"
        "@compute @workgroup_size(1) fn main() {\n"
        "  counts[0] = (x[0] + 63u) / 64u;\n  counts[1] = 1u;\n  counts[2] = 1u;\n}\n";
    KernelCode cpu;
    cpu.target = Target::cpu;
    cpu.function = [](const CpuInvocation& run) {
      const auto out = run.buffer<std::uint32_t>(1);
      out[0] = (run.buffer<const std::uint32_t>(0)[0] + 63) / 64;
      out[1] = 1;
      out[2] = 1;
    };
    return Kernel(std::move(signature), {std::move(wgsl), std::move(cpu)});
  }();
  return kernel;
}

void Scenarios::SetUp() {
  Watched::get().begin_test();
  client_ = Watched::get().client();
}

void Scenarios::TearDown() {
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
  if (HasFailure()) Watched::get().forget();
  Watched::get().end_test();
}

ConnectOptions Scenarios::options() { return Watched::get().options(); }
const test::Recording& Scenarios::recording() { return Watched::get().part(); }
std::optional<Bytes> Scenarios::buffer_bytes() { return Watched::get().buffer_bytes(); }

void Scenarios::expect_words(const Readback<std::uint32_t>& result, const Words& expected,
                             std::size_t part) {
  const Words found = result.get(part);
  ASSERT_EQ(found.size(), expected.size());
  if (!computes() || found == expected) return;
  const auto [f, e] = std::mismatch(found.begin(), found.end(), expected.begin());
  ADD_FAILURE() << "word " << f - found.begin() << " of " << found.size() << " is " << *f
                << ", expected " << *e;
}

void Scenarios::increment(Client& on, const Binding& a, const Binding& out, std::size_t words,
                          std::uint32_t value) {
  on.launch(fuzz::increment_kernel(), cover(words, kGroup), {a, out},
            fuzz::FuzzUniforms{value, words_of(words)});
}

void Scenarios::add(Client& on, const Binding& a, const Binding& b, const Binding& out,
                    std::size_t words, std::uint32_t value) {
  on.launch(fuzz::add_kernel(), cover(words, kGroup), {a, b, out},
            fuzz::FuzzUniforms{value, words_of(words)});
}

void Scenarios::accumulate(Client& on, const Binding& a, const Binding& x, std::size_t words) {
  on.launch(fuzz::accumulate_kernel(), cover(words, kGroup), {a, x},
            fuzz::FuzzUniforms{0, words_of(words)});
}

Words counted(std::size_t words, std::uint32_t begin, std::uint32_t step) {
  Words out(words);
  for (std::uint32_t& word : out) {
    word = begin;
    begin += step;
  }
  return out;
}

Words plus(Words words, std::uint32_t value) {
  for (std::uint32_t& word : words) word += value;
  return words;
}

Words plus(Words words, const Words& other) {
  std::ranges::transform(words, other, words.begin(), std::plus{});
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
  for (const PoolReport& pool : report.pools) {
    EXPECT_EQ(pool.live + pool.idle + pool.padding, pool.reserved) << pool.name;
    reserved += pool.reserved;
    live += pool.live;
  }
  EXPECT_EQ(report.reserved, reserved);
  EXPECT_EQ(report.live, live);
  EXPECT_EQ(report.live + report.idle + report.padding, report.reserved);
}

std::uint64_t repairs_of(const Report& report) {
  return report.relocations + report.bounces + report.promotions;
}

PoolReport pool_of(const Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.pools, name, &PoolReport::name);
  return found == report.pools.end() ? PoolReport{} : *found;
}

}  // namespace berth::scenarios
