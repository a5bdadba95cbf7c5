// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_fixture.hpp"

#include <cstring>

#include "berth/error.hpp"
#include "client/fill_kernel.hpp"
#include "platform/dynamic_library.hpp"

namespace berth::runtime::cuda_test {

namespace {

constexpr Bytes kUniformAlignment = 16;

}  // namespace

void FakeCuda::SetUp() {
  fake().reset();
  for (const Kernel& kernel : test::integer_kernels()) teach(kernel);
  teach(client::fill_kernel());
}

void FakeCuda::TearDown() {
  const fake_cuda::Live live = fake().live();
  EXPECT_EQ(live, fake_cuda::Live{})
      << live.device_allocations << " device pages, " << live.host_allocations << " host pages, "
      << live.events << " events, " << live.streams << " streams, " << live.graphs << " graphs, "
      << live.graph_execs << " instantiated ones, " << live.modules << " modules, " << live.pools
      << " pools, " << live.contexts << " contexts";
  EXPECT_EQ(fake().pageable_copies(), 0) << "a copy from memory that is not pinned";
}

std::unique_ptr<Backend> FakeCuda::connect(std::uint32_t graph_from) {
  return cuda::make_tuned(fake_options(), {.graph_from = graph_from});
}

std::uint32_t ProgramBuilder::page(Bytes bytes) {
  program_.pages.push_back({bytes, {}});
  return static_cast<std::uint32_t>(program_.pages.size() - 1);
}

plan::Command& ProgramBuilder::add(plan::CommandKind kind, const std::vector<Bound>& bindings,
                                   const std::string& label) {
  plan::Command command;
  command.kind = kind;
  command.first_binding = static_cast<std::uint32_t>(program_.bindings.size());
  command.binding_count = static_cast<std::uint32_t>(bindings.size());
  command.label = static_cast<std::uint32_t>(program_.labels.size());
  for (const Bound& b : bindings) {
    program_.bindings.push_back({plan::PageId(b.page), b.offset, b.bytes, b.access, 0});
  }
  program_.labels.push_back(label);
  program_.commands.push_back(command);
  return program_.commands.back();
}

void ProgramBuilder::dispatch(const Kernel& kernel, Grid grid, const std::vector<Bound>& bindings,
                              std::span<const std::byte> values, const std::string& label) {
  plan::Command& command =
      add(plan::CommandKind::dispatch, bindings, label.empty() ? kernel.name() : label);
  command.kernel = static_cast<std::uint32_t>(program_.kernels.size());
  program_.kernels.push_back({kernel, Variant::plain, 0});
  command.grid = static_cast<std::uint32_t>(grids.size());
  grids.push_back(grid);
  program_.grids = static_cast<std::uint32_t>(grids.size());
  command.uniform_offset = align_up(uniforms.size(), kUniformAlignment);
  command.uniform_bytes = values.size();
  uniforms.resize(command.uniform_offset + values.size());
  std::memcpy(uniforms.data() + command.uniform_offset, values.data(), values.size());
  program_.uniform_bytes = uniforms.size();
}

void ProgramBuilder::upload(Bound target) {
  add(plan::CommandKind::upload, {target}, "upload").slot = program_.uploads++;
}
void ProgramBuilder::readback(Bound source) {
  add(plan::CommandKind::readback, {source}, "readback").slot = program_.readbacks++;
}
void ProgramBuilder::foreign(const std::vector<Bound>& bindings) {
  add(plan::CommandKind::foreign, bindings, "foreign").slot = program_.foreign++;
}

Running::Running(Backend& backend, const ProgramBuilder& builder, std::size_t staging_words)
    : backend_(backend), builder_(builder), words_(staging_words) {
  const auto program = builder.program();
  for (const plan::ProgramPage& page : program->pages) {
    pages.push_back(make(page.bytes, memory::PageUse::storage));
  }
  if (program->uniform_bytes != 0) move_uniforms();
  uploads_.resize(program->uploads);
  for (std::size_t i = 0; i < program->readbacks; ++i) {
    readbacks_.push_back({make(words_ * 4, memory::PageUse::readback), 0});
  }
  for (std::size_t i = 0; i < program->uploads; ++i) put(i, Words(words_));
  prepared = backend.prepare(program, pages);
}

Running::~Running() {
  prepared.reset();
  for (const memory::PageHandle page : made_) backend_.free_page(page);
}

memory::PageHandle Running::make(Bytes bytes, memory::PageUse use) {
  const memory::PageSource::Made made = backend_.make_page({bytes, use, "test"});
  if (made.failure) throw Error(ErrorCode::device, made.failure->message);
  made_.push_back(made.page);
  return made.page;
}

void Running::move_uniforms() { room_ = {make(4096, memory::PageUse::uniform), 0}; }

Submission Running::submission() {
  Submission submission;
  submission.uniforms = builder_.uniforms;
  submission.uniform_room = room_;
  submission.grids = builder_.grids;
  submission.uploads = uploads_;
  submission.readbacks = readbacks_;
  submission.foreign = functions;
  return submission;
}

Ticket Running::submit() { return backend_.submit(backend_.encode(*prepared, submission())); }

void Running::put(std::size_t slot, const Words& words) {
  const memory::PageHandle page = make(words.size() * 4, memory::PageUse::upload);
  std::memcpy(backend_.host_data(page), words.data(), words.size() * 4);
  backend_.unmap(page);
  uploads_[slot] = {page, 0};
}

Words Running::take(std::size_t slot) {
  const memory::PageHandle page = readbacks_[slot].page;
  backend_.map(page);
  backend_.wait_mapped(page);
  Words words(words_);
  std::memcpy(words.data(), backend_.host_data(page), words.size() * 4);
  backend_.unmap(page);
  return words;
}

std::string error_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_STREQ(name_of(error.code()), name_of(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace berth::runtime::cuda_test
