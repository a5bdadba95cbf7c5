// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/capabilities.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <thread>

#include "berth/error.hpp"

namespace berth::runtime::reference {

namespace {

template <class T>
void lower(T& limit, T option) {
  if (option != 0) limit = std::min(limit, option);
}

void lower_all(Limits& limits, const LimitOptions& options) {
  lower(limits.max_page_bytes, align_down(options.max_page_bytes, 4));
  lower(limits.max_binding_bytes, align_down(options.max_binding_bytes, 4));
  limits.max_binding_bytes = std::min(limits.max_binding_bytes, limits.max_page_bytes);
  lower(limits.max_storage_bindings, options.max_storage_bindings);
  lower(limits.max_groups_per_dimension, options.max_groups_per_dimension);
  if (options.offset_alignment != 0) {
    if (!std::has_single_bit(options.offset_alignment)) {
      throw Error(ErrorCode::invalid_argument, "The offset alignment " +
                                                   std::to_string(options.offset_alignment) +
                                                   " is no power of two.");
    }
    limits.offset_alignment = std::max(limits.offset_alignment, options.offset_alignment);
  }
}

Capabilities common(const ConnectOptions& options) {
  Capabilities c;
  c.adapter = "CPU, " + std::to_string(thread_count(options)) + " thread(s)";
  c.target = Target::cpu;
  c.overlap = Overlap::none;
  c.waiting = Waiting::blocking;
  c.features = {"f16"};
  return c;
}

}  // namespace

std::uint32_t thread_count(const ConnectOptions& options) {
  if (options.threads == Threads::none) return 1;
  if (options.cpu_threads != 0) return options.cpu_threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

Capabilities fast_capabilities(const ConnectOptions& options) {
  Capabilities c = common(options);
  c.runtime = "reference";
  c.exclusion = false;
  c.copy_within_page = true;
  // An alignment asked for is kept to: programs are to meet it before they meet such a device.
  c.unaligned_bindings = options.limits.offset_alignment == 0;
  c.limits.max_page_bytes = 64 * kGiB;
  c.limits.max_binding_bytes = 64 * kGiB;
  c.limits.max_uniform_bytes = 64 * kKiB;
  c.limits.offset_alignment = 16;
  c.limits.uniform_alignment = 16;
  c.limits.max_storage_bindings = kMostBindings;
  c.limits.max_groups_per_dimension = 65535;
  c.limits.max_invocations_per_group = 1024;
  c.limits.max_group_size = {1024, 1024, 64};
  c.limits.max_group_memory = 32 * kKiB;
  lower_all(c.limits, options.limits);
  return c;
}

Capabilities strict_capabilities(const ConnectOptions& options) {
  Capabilities c = common(options);
  c.runtime = "reference-strict";
  c.exclusion = true;
  c.copy_within_page = false;
  c.limits.max_page_bytes = 256 * kMiB;
  c.limits.max_binding_bytes = 128 * kMiB;
  c.limits.max_uniform_bytes = 64 * kKiB;
  c.limits.offset_alignment = 256;
  c.limits.uniform_alignment = 256;
  c.limits.max_storage_bindings = 8;
  c.limits.max_groups_per_dimension = 65535;
  c.limits.max_invocations_per_group = 256;
  c.limits.max_group_size = {256, 256, 64};
  c.limits.max_group_memory = 16 * kKiB;
  lower_all(c.limits, options.limits);
  return c;
}

}  // namespace berth::runtime::reference
