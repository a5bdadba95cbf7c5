// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/bound_program.hpp"

#include <cstring>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

using plan::Command;
using plan::CommandKind;
using plan::Program;

[[noreturn]] void refuse(const Program& program, const Command& command, const std::string& why) {
  throw Error(ErrorCode::internal,
              "The program is refused at " + task_name(program, command.label) + ": " + why);
}

void check_bindings(const BoundProgram& bound, const Command& command) {
  const Program& program = *bound.program;
  if (command.first_binding > program.bindings.size() ||
      command.binding_count > program.bindings.size() - command.first_binding) {
    refuse(program, command, "its bindings are not there.");
  }
  for (const plan::ProgramBinding& binding : bindings_of(program, command)) {
    if (binding.page.index() >= bound.pages.size()) {
      refuse(program, command, "a page is not there.");
    }
    const Bytes size = bound.pages[binding.page.index()]->bytes;
    if (binding.bytes > size || binding.offset > size - binding.bytes) {
      refuse(program, command,
             "bytes [" + std::to_string(binding.offset) + ", " +
                 std::to_string(binding.offset + binding.bytes) + ") lie outside a page of " +
                 std::to_string(size) + " bytes.");
    }
  }
}

void check_uniforms(const Program& program, const Command& command, Bytes offset) {
  if (command.uniform_bytes > program.uniform_bytes ||
      offset > program.uniform_bytes - command.uniform_bytes) {
    refuse(program, command, "its uniform block lies outside the program's.");
  }
}

void check_batch(const Program& program, const Command& command) {
  if (command.first_batch > program.batch.size() ||
      command.batch_count > program.batch.size() - command.first_batch) {
    refuse(program, command, "its batch is not there.");
  }
  const auto bindings = bindings_of(program, command);
  for (const plan::BatchEntry& entry :
       std::span(program.batch).subspan(command.first_batch, command.batch_count)) {
    if (entry.grid >= program.grids || entry.first_range > program.batch_ranges.size() ||
        command.binding_count > program.batch_ranges.size() - entry.first_range) {
      refuse(program, command, "a batch entry names what is not there.");
    }
    check_uniforms(program, command, entry.uniform_offset);
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const Range range = program.batch_ranges[entry.first_range + i];
      if (range.bytes > bindings[i].bytes || range.offset > bindings[i].bytes - range.bytes) {
        refuse(program, command, "a batch entry lies outside its binding.");
      }
    }
  }
}

void check_command(const BoundProgram& bound, const Command& command) {
  const Program& program = *bound.program;
  check_bindings(bound, command);
  std::size_t bindings = 1;
  std::size_t slots = 1;
  std::size_t slot = 0;
  switch (command.kind) {
    case CommandKind::dispatch:
    case CommandKind::indirect: {
      if (command.kernel >= bound.forms.size())
        refuse(program, command, "its kernel is not there.");
      const bool indirect = command.kind == CommandKind::indirect;
      bindings = bound.forms[command.kernel].signature_of_binding.size() + (indirect ? 1 : 0);
      if (!indirect && command.batch_count == 0) {
        slots = program.grids;
        slot = command.grid;
      }
      check_batch(program, command);
      check_uniforms(program, command, command.uniform_offset);
      break;
    }
    case CommandKind::copy:
      bindings = 2;
      break;
    case CommandKind::fill:
      break;
    case CommandKind::upload:
      slots = program.uploads;
      slot = command.slot;
      break;
    case CommandKind::readback:
      slots = program.readbacks;
      slot = command.slot;
      break;
    case CommandKind::foreign:
      bindings = command.binding_count;
      slots = program.foreign;
      slot = command.slot;
      break;
  }
  if (command.binding_count != bindings) {
    refuse(program, command,
           "it has " + std::to_string(command.binding_count) + " bindings and " +
               std::to_string(bindings) + " are needed.");
  }
  if (slot >= slots) refuse(program, command, "its slot is not there.");
  const auto bound_to = bindings_of(program, command);
  if (command.kind == CommandKind::copy && bound_to[0].bytes != bound_to[1].bytes) {
    refuse(program, command, "source and target of a copy differ in size.");
  }
  if (command.kind == CommandKind::indirect && bound_to.back().bytes < 12) {
    refuse(program, command, "three workgroup counts need 12 bytes.");
  }
}

}  // namespace

std::string task_name(const plan::Program& program, std::uint32_t label) {
  const bool named = label < program.labels.size() && !program.labels[label].empty();
  return named ? "task '" + program.labels[label] + "'" : std::string("a task without a label");
}

std::shared_ptr<const BoundProgram> bind_program(std::shared_ptr<const plan::Program> program,
                                                 std::span<const memory::PageHandle> handles,
                                                 const Pages& pages) {
  if (handles.size() != program->pages.size()) {
    throw Error(ErrorCode::internal, "A program of " + std::to_string(program->pages.size()) +
                                         " pages is bound to " + std::to_string(handles.size()) +
                                         ".");
  }
  auto bound = std::make_shared<BoundProgram>();
  bound->program = std::move(program);
  bound->handles.assign(handles.begin(), handles.end());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    PageMemory& page = pages.at(handles[i]);
    if (page.bytes < bound->program->pages[i].bytes) {
      throw Error(ErrorCode::internal, "A page of " + std::to_string(page.bytes) +
                                           " bytes stands for one of " +
                                           std::to_string(bound->program->pages[i].bytes) + ".");
    }
    bound->pages.push_back(&page);
  }
  for (const plan::ProgramKernel& kernel : bound->program->kernels) {
    bound->forms.push_back(form_of(kernel.kernel, kernel.variant, kernel.in_place_pairs));
  }
  for (const Command& command : bound->program->commands) check_command(*bound, command);
  return bound;
}

std::span<const std::byte> uniforms_of(const Job& job, const plan::Command& command, Bytes offset) {
  if (command.uniform_bytes == 0) return {};
  return {job.uniform_page->data + job.uniform_offset + offset,
          static_cast<std::size_t>(command.uniform_bytes)};
}

Grid indirect_grid(const std::byte* counts, std::uint32_t limit) {
  std::array<std::uint32_t, 3> n{};
  std::memcpy(n.data(), counts, sizeof(n));
  if (n[0] > limit || n[1] > limit || n[2] > limit) return {0, 0, 0};
  return {n[0], n[1], n[2]};
}

std::vector<ForeignView> foreign_views(const BoundProgram& bound, const plan::Command& command) {
  std::vector<ForeignView> views;
  for (const plan::ProgramBinding& binding : bindings_of(*bound.program, command)) {
    std::byte* first = bound.pages[binding.page.index()]->data + binding.offset;
    views.push_back({nullptr, reinterpret_cast<std::uint64_t>(first), binding.offset, binding.bytes,
                     binding.access});
  }
  return views;
}

}  // namespace berth::runtime::reference
