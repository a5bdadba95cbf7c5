// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/guarded_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "runtime/reference/capabilities.hpp"

namespace berth::runtime::reference {

namespace {

constexpr Bytes kGuard = 4096;
constexpr Bytes kCopyAlignment = 256;

}  // namespace

void GuardedRun::run(const StrictTask& task, const Poison& poison) {
  poison_ = poison;
  thrown_.reset();
  lay_out(task);
  fill(task);
  try {
    call(task);
  } catch (const std::exception& error) {
    thrown_ = error.what();
  } catch (...) {
    thrown_ = "an exception of an unknown type";
  }
}

void GuardedRun::lay_out(const StrictTask& task) {
  own_.clear();
  own_bytes_.clear();
  Bytes at = kGuard;
  for (const TaskBinding& binding : task.bindings) {
    at = align_up(at, kCopyAlignment);
    own_.push_back(at + binding.base);
    own_bytes_.push_back(binding.bytes - binding.base);
    at += binding.bytes + kGuard;
  }
  size_ = at;
  if (arena_.size() < size_ + kCopyAlignment) {
    arena_ = std::vector<std::byte>(static_cast<std::size_t>(size_ + kCopyAlignment));
  }
  void* start = arena_.data();
  std::size_t space = arena_.size();
  start_ = static_cast<std::byte*>(
      std::align(kCopyAlignment, static_cast<std::size_t>(size_), start, space));
}

void GuardedRun::fill(const StrictTask& task) {
  Bytes filled = 0;
  for (std::size_t i = 0; i < task.bindings.size(); ++i) {
    const TaskBinding& binding = task.bindings[i];
    std::byte* own = start_ + own_[i];
    const auto bytes = static_cast<std::ptrdiff_t>(own_bytes_[i]);
    std::fill(start_ + filled, own, poison_.outside);
    filled = own_[i] + own_bytes_[i];
    if (binding.access == Access::write) {
      std::fill(own, own + bytes, poison_.promised);
      continue;
    }
    const Range range = binding.own_range();
    std::memcpy(own, binding.page->data + range.offset, range.bytes);
    const std::byte poison =
        binding.access == Access::read ? poison_.unwritten : poison_.unwritten_read_write;
    const auto first = binding.page->written.begin() + static_cast<std::ptrdiff_t>(range.offset);
    const auto last = first + bytes;
    for (auto hole = std::find(first, last, 0); hole != last;) {
      const auto end = std::find(hole, last, 1);
      std::fill(own + (hole - first), own + (end - first), poison);
      hole = std::find(end, last, 0);
    }
  }
  std::fill(start_ + filled, start_ + size_, poison_.outside);
}

void GuardedRun::call(const StrictTask& task) {
  std::array<CpuBuffer, kMostBindings> buffers{};
  const auto& of_buffer = task.form->binding_of_buffer;
  for (std::size_t i = 0; i < of_buffer.size(); ++i) {
    const TaskBinding& binding = task.bindings[of_buffer[i]];
    buffers[i] = {start_ + own_[of_buffer[i]] - binding.base, binding.bytes};
  }
  const std::span<const CpuBuffer> views(buffers.data(), of_buffer.size());
  const std::array<std::uint32_t, 3> groups{task.grid.x, task.grid.y, task.grid.z};
  for (std::uint32_t z = 0; z < task.grid.z; ++z) {
    for (std::uint32_t y = 0; y < task.grid.y; ++y) {
      for (std::uint32_t x = 0; x < task.grid.x; ++x) {
        task.form->function(CpuInvocation(views, task.uniforms, {x, y, z}, groups));
      }
    }
  }
}

std::span<const std::byte> GuardedRun::result(std::size_t i) const {
  return {start_ + own_[i], static_cast<std::size_t>(own_bytes_[i])};
}

std::optional<Bytes> GuardedRun::changed(const StrictTask& task, std::size_t i) const {
  const Range range = task.bindings[i].own_range();
  const PageMemory& page = *task.bindings[i].page;
  const auto after = result(i);
  if (std::memcmp(after.data(), page.data + range.offset, after.size()) == 0) return std::nullopt;
  for (Bytes b = 0; b < range.bytes; ++b) {
    const bool written = page.written[range.offset + b] != 0;
    const std::byte before = written ? page.data[range.offset + b] : poison_.unwritten;
    if (after[b] != before) return b;
  }
  return std::nullopt;
}

std::optional<GuardedRun::Stray> GuardedRun::stray(const StrictTask& task) const {
  Bytes begin = 0;
  for (std::size_t i = 0; i <= task.bindings.size(); ++i) {
    const Bytes end = i < task.bindings.size() ? own_[i] : size_;
    const std::byte* hit = std::find_if(start_ + begin, start_ + end,
                                        [this](std::byte b) { return b != poison_.outside; });
    if (hit != start_ + end) {
      const auto at = static_cast<Bytes>(hit - start_);
      const bool after_one = i != 0 && (i == task.bindings.size() || at - begin <= end - at);
      if (after_one) return Stray{i - 1, false, at - begin};
      return Stray{i, true, end - at};
    }
    if (i < task.bindings.size()) begin = own_[i] + own_bytes_[i];
  }
  return std::nullopt;
}

}  // namespace berth::runtime::reference
