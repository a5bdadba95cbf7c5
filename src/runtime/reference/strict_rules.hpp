// SPDX-License-Identifier: Apache-2.0
//
// The rules of WebGPU that placement must keep, applied to a program on real pages. Every breach is
// Error(internal): the planner and its checker should have seen it before. Pure.
#pragma once

#include "runtime/reference/bound_program.hpp"

namespace berth::runtime::reference {

/// One usage scope per dispatch and copy, offsets, sizes, number of bindings.
void check_rules(const BoundProgram& bound, const Limits& limits);
/// Workgroups, uniform blocks.
void check_rules(const Job& job, const Limits& limits);

}  // namespace berth::runtime::reference
