// SPDX-License-Identifier: Apache-2.0
//
// Which commands of a program must wait for which: read after write, write after read and write
// after write, by ranges of pages. Plain arithmetic on a program; no device.
//
//   page   0 ------ 64 ------- 128        command 2 reads [32, 96): it waits for 0 and for 1;
//          [ 0 wrote | 1 wrote ]          command 3 writes [0, 64): it waits for 0's readers, so 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/storage.hpp"
#include "plan/program.hpp"

namespace berth::runtime::cuda {

/// Per command of the program: the earlier commands it must wait for, ascending and without those
/// that another of them waits for already (in programs of up to 8,192 commands; beyond that, some
/// are named twice over, which is right too). Symbolic pages with one handle are one page.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> dependencies_of(
    const plan::Program& program, std::span<const memory::PageHandle> pages);

}  // namespace berth::runtime::cuda
