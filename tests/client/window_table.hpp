// SPDX-License-Identifier: Apache-2.0
//
// Windows for the tests of this room, written down as a table: tensors by letter, tasks by their
// uses. Not thread safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "client/tensor_state.hpp"
#include "client/window.hpp"

namespace berth::client {

/// One use of a task: the tensor's letter, the access, a range (the whole tensor by default).
struct TableUse {
  char tensor = 'a';
  Access access = Access::read;
  Range range{0, kWholeSize};
};

/// A window over tensors "a", "b", … Tensors live as long as the table.
class WindowTable {
 public:
  /// Units: bytes.
  TensorState& tensor(char name, Bytes bytes, Bytes capacity = 0) {
    TensorState& made = tensors_.emplace_back(
        next_++, 1, bytes, TensorOptions{.label = std::string(1, name), .capacity = capacity},
        std::source_location::current());
    by_name_[name] = &made;
    return made;
  }
  [[nodiscard]] TensorState& at(char name) { return *by_name_.at(name); }

  /// A dispatch of a kernel that binds these uses.
  void dispatch(const std::vector<TableUse>& uses, const std::vector<std::uint32_t>& words = {},
                const Kernel* kernel = nullptr) {
    window.add_dispatch(kernel != nullptr ? *kernel : kernel_of(uses), Grid{1}, resolved(uses),
                        words, "", 0);
  }
  void transfer(plan::TaskKind kind, const std::vector<TableUse>& uses) {
    window.add_transfer(kind, resolved(uses), 0, "transfer");
  }

  /// A kernel whose signature fits these uses.
  static Kernel kernel_of(const std::vector<TableUse>& uses) {
    KernelSignature signature;
    signature.name = "task";
    for (const TableUse& use : uses) {
      signature.bindings.push_back(
          {"b" + std::to_string(signature.bindings.size()), Element::u32, use.access, 1});
    }
    signature.workgroup = {64, 1, 1};
    KernelCode cpu;
    cpu.target = Target::cpu;
    cpu.function = [](const CpuInvocation&) {};
    return Kernel(std::move(signature), {std::move(cpu)});
  }

  Window window{1};

 private:
  [[nodiscard]] std::vector<Window::NewUse> resolved(const std::vector<TableUse>& uses) {
    std::vector<Window::NewUse> out;
    for (const TableUse& use : uses) {
      Range range = use.range;
      if (range.bytes == kWholeSize) range.bytes = at(use.tensor).bytes - range.offset;
      out.push_back({&at(use.tensor), use.access, false, range});
    }
    return out;
  }

  std::deque<TensorState> tensors_;
  std::map<char, TensorState*> by_name_;
  std::uint64_t next_ = 1;
};

}  // namespace berth::client
