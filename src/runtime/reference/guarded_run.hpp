// SPDX-License-Identifier: Apache-2.0
//
// One run of a task on copies of its bindings, with guard bytes around each and poison in every
// byte that nobody wrote. Two runs with different poisons that differ have used such bytes.
//
//   | guard | base | the task's range of binding 0 | guard | … binding 1 | guard |
//
// A `write` range is poison as a whole: its old contents are not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/reference/kernel_forms.hpp"
#include "runtime/reference/pages.hpp"

namespace berth::runtime::reference {

/// One binding of a task.
struct TaskBinding {
  PageMemory* page = nullptr;
  Bytes offset = 0;  ///< in the page
  Bytes bytes = 0;   ///< bound
  Bytes base = 0;    ///< the task's own range begins here; before it are a neighbour's bytes
  Access access = Access::read;  ///< what the kernel does
  Bytes element_bytes = 4;
  std::string name;
  [[nodiscard]] Range own_range() const { return {offset + base, bytes - base}; }
};

/// A task as the strict runtime runs it.
struct StrictTask {
  const KernelForm* form = nullptr;
  std::string name;  ///< "kernel 'k' (task 't')"
  std::vector<TaskBinding> bindings;
  std::span<const std::byte> uniforms;
  Grid grid;
};

/// Every poison is a large number of another sign in the other run, as f32, i32 or half of it.
struct Poison {
  std::byte unwritten;             ///< bytes of read and read_write ranges that nobody wrote
  std::byte unwritten_read_write;  ///< the same of read_write ranges
  std::byte promised;              ///< all bytes of write ranges
  std::byte outside;               ///< guards
};
inline constexpr Poison kFirstPoison{std::byte{0xFE}, std::byte{0xFE}, std::byte{0xFD},
                                     std::byte{0xFC}};
inline constexpr Poison kSecondPoison{std::byte{0x7E}, std::byte{0x7E}, std::byte{0x7D},
                                      std::byte{0x7C}};
/// Differs from the first as the second does, but for the undefined bytes of read_write ranges.
inline constexpr Poison kThirdPoison{std::byte{0x7E}, std::byte{0xFE}, std::byte{0x7D},
                                     std::byte{0x7C}};

class GuardedRun {
 public:
  /// Copies the bindings and runs all workgroups, one after another. What the kernel throws is
  /// kept.
  void run(const StrictTask& task, const Poison& poison);

  /// What the kernel threw, if it did.
  [[nodiscard]] std::optional<std::string> thrown() const { return thrown_; }
  /// The own range of binding i after the run.
  [[nodiscard]] std::span<const std::byte> result(std::size_t i) const;
  /// The first byte of a read binding's own range that has changed.
  [[nodiscard]] std::optional<Bytes> changed(const StrictTask& task, std::size_t i) const;
  struct Stray {
    std::size_t binding = 0;
    bool before = false;  ///< before the binding's range, else past its end
    Bytes distance = 0;   ///< bytes from the start, or from the end
  };
  /// The first guard byte that has changed, and the binding nearest to it.
  [[nodiscard]] std::optional<Stray> stray(const StrictTask& task) const;

 private:
  void lay_out(const StrictTask& task);
  void fill(const StrictTask& task);
  void call(const StrictTask& task);

  Poison poison_{};
  std::vector<std::byte> arena_;
  std::byte* start_ = nullptr;  // aligned
  Bytes size_ = 0;
  std::vector<Bytes> own_;  // per binding: where its own range begins, from start_
  std::vector<Bytes> own_bytes_;
  std::optional<std::string> thrown_;
};

}  // namespace berth::runtime::reference
