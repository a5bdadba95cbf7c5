// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/strict_task.hpp"

#include <algorithm>
#include <cstring>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

[[noreturn]] void find(const StrictTask& task, const std::string& what) {
  std::string name = task.name;
  name.front() = 'K';  // "kernel 'k' …" begins a sentence here
  throw Error(ErrorCode::kernel, name + " " + what);
}

std::string quoted(const TaskBinding& binding) { return "binding '" + binding.name + "'"; }

/// The first byte where two results differ.
std::optional<Bytes> difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return std::nullopt;
  return static_cast<Bytes>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool has_undefined_bytes(const TaskBinding& binding) {
  const Range range = binding.own_range();
  return std::memchr(binding.page->written.data() + range.offset, 0, range.bytes) != nullptr;
}

}  // namespace

void StrictJudge::run(const StrictTask& task, UndoLog& undo) {
  if (task.grid.empty()) return;  // writes nothing
  workers_.run(2, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (i == 0) first_.run(task, kFirstPoison);
      if (i == 1) second_.run(task, kSecondPoison);
    }
  });
  check_run(task, first_);
  check_run(task, second_);
  check_promises(task);
  check_differences(task);
  store(task, undo);
}

void StrictJudge::check_run(const StrictTask& task, const GuardedRun& run) const {
  if (const auto stray = run.stray(task)) {
    const TaskBinding& binding = task.bindings[stray->binding];
    const std::string bytes = std::to_string(binding.bytes - binding.base) + " bytes";
    const std::string where =
        stray->before
            ? std::to_string(stray->distance) + " bytes before the start of "
            : "at byte " + std::to_string(binding.bytes - binding.base + stray->distance) +
                  ", past the end of ";
    find(task, "writes " + where + quoted(binding) + ", which has " + bytes +
                   ": compare the index with a length passed as a uniform.");
  }
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    if (task.bindings[i].access != Access::read) continue;
    if (const auto byte = run.changed(task, i)) {
      find(task, "writes through " + quoted(task.bindings[i]) +
                     ", which it declares as read (byte " + std::to_string(*byte) +
                     " has changed): declare it read_write.");
    }
  }
  if (const auto thrown = run.thrown()) {
    find(task, "throws (" + *thrown + "): kernels must not.");
  }
}

// By whole elements: arithmetic on poison may leave single bytes of an element as they were.
void StrictJudge::check_promises(const StrictTask& task) const {
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    const TaskBinding& binding = task.bindings[i];
    if (binding.access != Access::write) continue;
    const auto a = first_.result(i);
    const auto b = second_.result(i);
    const auto first_difference = difference(a, b);
    if (!first_difference) continue;
    const std::size_t size = binding.element_bytes;
    for (std::size_t at = *first_difference / size * size; at + size <= a.size(); at += size) {
      const auto untouched = [&](std::size_t byte) {
        return a[byte] == kFirstPoison.promised && b[byte] == kSecondPoison.promised;
      };
      std::size_t same = 0;
      while (same < size && untouched(at + same)) ++same;
      if (same < size) continue;
      find(task, "does not overwrite byte " + std::to_string(at) + " of " + quoted(binding) +
                     ", which it declares as write and which has " + std::to_string(a.size()) +
                     " bytes: write every byte, or declare it read_write.");
    }
  }
}

void StrictJudge::check_differences(const StrictTask& task) {
  bool undefined = false;
  bool differs = false;
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    const TaskBinding& binding = task.bindings[i];
    undefined |= binding.access == Access::read_write && has_undefined_bytes(binding);
    differs |= difference(first_.result(i), second_.result(i)) && writes(binding.access);
  }
  if (!differs) return;
  GuardedRun third;
  if (undefined) third.run(task, kThirdPoison);
  const GuardedRun& other = undefined ? third : second_;
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    const TaskBinding& binding = task.bindings[i];
    if (!writes(binding.access)) continue;
    const auto byte = difference(first_.result(i), other.result(i));
    if (!byte) continue;
    const std::byte a = first_.result(i)[*byte];
    const std::byte b = other.result(i)[*byte];
    const std::string where =
        "byte " + std::to_string(*byte) + " of " + quoted(binding) + " depends on ";
    if (a == kFirstPoison.outside && b == kSecondPoison.outside) {
      find(task, "reads outside of its bindings: " + where +
                     "such bytes; compare the index with a length passed as a uniform.");
    }
    if (a == kFirstPoison.promised && b == kSecondPoison.promised) {
      find(task, "reads bytes of a write range before it has written them: " + where +
                     "them; declare that binding read_write.");
    }
    find(task, "reads bytes that nobody wrote: " + where +
                   "them; write them first, or compare the index with a length.");
  }
}

void StrictJudge::store(const StrictTask& task, UndoLog& undo) const {
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    const TaskBinding& binding = task.bindings[i];
    if (!writes(binding.access)) continue;
    const Range range = binding.own_range();
    PageMemory& page = *binding.page;
    undo.save(page, range);
    const auto a = first_.result(i);
    const auto b = second_.result(i);
    std::memcpy(page.data + range.offset, a.data(), a.size());
    std::fill_n(page.written.begin() + static_cast<std::ptrdiff_t>(range.offset), range.bytes, 1);
    for (auto byte = difference(a, b); byte && *byte < a.size(); ++*byte) {
      if (a[*byte] != b[*byte]) page.written[range.offset + *byte] = 0;
    }
  }
}

}  // namespace berth::runtime::reference
