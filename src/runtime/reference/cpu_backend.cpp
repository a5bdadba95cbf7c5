// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/cpu_backend.hpp"

#include <cstring>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

class CpuPrepared final : public Prepared {
 public:
  explicit CpuPrepared(std::shared_ptr<const BoundProgram> bound) : bound_(std::move(bound)) {}
  [[nodiscard]] const std::shared_ptr<const BoundProgram>& bound() const { return bound_; }

 private:
  std::shared_ptr<const BoundProgram> bound_;
};

struct CpuEncoded final : Encoded {
  std::unique_ptr<Job> job = std::make_unique<Job>();
  std::vector<memory::PageHandle> staging;
  std::span<const std::byte> uniforms;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::internal, "A submission is refused: " + why);
}

void check_counts(const plan::Program& program, const Submission& submission) {
  if (submission.uniforms.size() != program.uniform_bytes ||
      submission.grids.size() != program.grids || submission.uploads.size() != program.uploads ||
      submission.readbacks.size() != program.readbacks ||
      submission.foreign.size() != program.foreign) {
    refuse("it does not bring what its program needs.");
  }
}

}  // namespace

CpuBackend::Made CpuBackend::make_page(const memory::PageRequest& request) {
  return pages_.make(request, capabilities_.limits.max_page_bytes);
}

void CpuBackend::free_page(memory::PageHandle page) noexcept {
  // Work that still uses it is against the contract; it costs a wait here, never memory safety.
  finish(pages_.last_use(page));
  pages_.free(page);
}

void CpuBackend::wait(Ticket ticket) {
  if (ticket.value > submitted_) {
    throw Error(ErrorCode::internal, "Submission " + std::to_string(ticket.value) +
                                         " is waited for, but the last one is " +
                                         std::to_string(submitted_) + ".");
  }
  finish(ticket.value);
  throw_failure();
}

void CpuBackend::compile(const Kernel& kernel, Variant variant, std::uint32_t in_place_pairs) {
  forms_.compile(kernel, variant, in_place_pairs);
}

bool CpuBackend::compiled(const Kernel& kernel, Variant variant,
                          std::uint32_t in_place_pairs) const {
  return forms_.compiled(kernel, variant, in_place_pairs);
}

std::unique_ptr<Prepared> CpuBackend::prepare(std::shared_ptr<const plan::Program> program,
                                              std::span<const memory::PageHandle> pages) {
  auto bound = bind_program(std::move(program), pages, pages_);
  check_program(*bound);
  return std::make_unique<CpuPrepared>(std::move(bound));
}

std::unique_ptr<Encoded> CpuBackend::encode(Prepared& prepared, const Submission& submission,
                                            void* into) {
  if (into != nullptr) {
    throw Unsupported("The runtime '" + capabilities_.runtime +
                      "' has no encoders, so it cannot record into the caller's.");
  }
  auto encoded = std::make_unique<CpuEncoded>();
  Job& job = *encoded->job;
  job.bound = static_cast<CpuPrepared&>(prepared).bound();
  const plan::Program& program = *job.bound->program;
  check_counts(program, submission);
  for (const memory::PageHandle page : job.bound->handles) {
    if (pages_.find(page) == nullptr) refuse("one of its pages was freed.");
  }
  if (program.uniform_bytes != 0) {
    PageMemory& page = pages_.at(submission.uniform_room.page);
    job.uniform_page = &page;
    job.uniform_offset = submission.uniform_room.offset;
    if (program.uniform_bytes > page.bytes ||
        job.uniform_offset > page.bytes - program.uniform_bytes ||
        job.uniform_offset % limits().uniform_alignment != 0) {
      refuse("its uniform room is too small, or not aligned.");
    }
    encoded->staging.push_back(page.handle);
    encoded->uniforms = submission.uniforms;
  }
  job.grids.assign(submission.grids.begin(), submission.grids.end());
  job.foreign.assign(submission.foreign.begin(), submission.foreign.end());
  job.uploads.resize(program.uploads);
  job.readbacks.resize(program.readbacks);
  for (const plan::Command& command : program.commands) {
    const bool upload = command.kind == plan::CommandKind::upload;
    if (!upload && command.kind != plan::CommandKind::readback) continue;
    const HostSlice& slice =
        upload ? submission.uploads[command.slot] : submission.readbacks[command.slot];
    const Bytes bytes = bindings_of(program, command)[0].bytes;
    PageMemory& page = pages_.at(slice.page);
    if (bytes > page.bytes || slice.offset > page.bytes - bytes) {
      refuse("staged bytes lie outside their page.");
    }
    (upload ? job.uploads : job.readbacks)[command.slot] = page.data + slice.offset;
    encoded->staging.push_back(slice.page);
  }
  check_job(job);
  return encoded;
}

Ticket CpuBackend::submit(std::unique_ptr<Encoded> encoded) {
  auto& ours = static_cast<CpuEncoded&>(*encoded);
  throw_failure();
  Job& job = *ours.job;
  job.ticket = submitted_ + 1;
  for (const memory::PageHandle page : ours.staging) pages_.check_unmapped(page);
  if (!ours.uniforms.empty()) {
    std::memcpy(job.uniform_page->data + job.uniform_offset, ours.uniforms.data(),
                ours.uniforms.size());
  }
  const std::shared_ptr<const BoundProgram> bound = job.bound;
  run(std::move(ours.job));
  const Ticket ticket{++submitted_};
  for (const memory::PageHandle page : ours.staging) pages_.use(page, ticket.value);
  for (const memory::PageHandle page : bound->handles) pages_.use(page, ticket.value);
  return ticket;
}

void CpuBackend::wait_mapped(memory::PageHandle page) {
  if (pages_.host_state(page, done()) == HostState::unmapped) {
    throw Error(ErrorCode::internal, "A page is waited for that nobody asked to map.");
  }
  wait(Ticket{pages_.last_use(page)});
}

}  // namespace berth::runtime::reference
