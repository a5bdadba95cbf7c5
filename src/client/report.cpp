// SPDX-License-Identifier: Apache-2.0
#include "berth/report.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "client/core.hpp"

namespace berth {

namespace client {

Report Core::report() {
  const Lock held = lock();
  Report report;
  report.runtime = backend_->capabilities().runtime;
  report.adapter = backend_->capabilities().adapter;
  report.budget = options_.budget;
  report.pools = manager_->reports();
  for (const PoolReport& pool : report.pools) {
    report.reserved += pool.reserved;
    report.live += pool.live;
    report.idle += pool.idle;
    report.padding += pool.padding;
    const std::string_view name = pool.name;
    if (name == "persistent" || name == "sliced" || name == "exclusive") {
      report.persistent += pool.live;
    } else if (name == "uniform") {
      report.uniform += pool.reserved;
    } else if (name == "upload" || name == "readback") {
      report.staging += pool.reserved;
    }
  }
  report.windows = totals_.windows;
  report.tasks = totals_.tasks;
  report.pages_made = storage_.pages_made();
  report.relocations = totals_.relocations;
  report.bounces = totals_.bounces;
  report.promotions = totals_.promotions;
  report.renames = totals_.renames;
  report.unpromoted = totals_.unpromoted;
  report.last_window = last_window_;
  for (const TensorState* tensor : by_slot_) {
    if (tensor == nullptr || tensor->last_window >= last_window_serial_) continue;
    if (tensor->handles.load(std::memory_order_acquire) == 0) continue;
    report.held_unused_bytes += tensor->bytes;
    report.held_unused.push_back({describe(*tensor), tensor->bytes});
  }
  std::ranges::stable_sort(report.held_unused, std::greater{}, &TensorBytes::bytes);
  return report;
}

std::string Core::last_plan() {
  const Lock held = lock();
  return last_plan_;
}

}  // namespace client

namespace {

std::string ratio_text(Bytes value, Bytes base) {
  if (base == 0) return "-";
  const std::uint64_t thousandths = (value * 1000 + base / 2) / base;
  std::string rest = text(thousandths % 1000);
  rest.insert(0, 3 - rest.size(), '0');
  return text(thousandths / 1000, '.', rest);
}

}  // namespace

std::string to_text(const Report& report) {
  const WindowReport& w = report.last_window;
  std::string out =
      text("memory on ", report.runtime, " (", report.adapter, "): reserved ",
           human_bytes(report.reserved), ", live ", human_bytes(report.live), ", idle ",
           human_bytes(report.idle), ", padding ", human_bytes(report.padding), "\n");
  for (const PoolReport& pool : report.pools) {
    out += text("  ", pool.name, ": ", human_bytes(pool.reserved), " in ", pool.pages,
                pool.pages == 1 ? " page" : " pages", " (live ", human_bytes(pool.live), ", idle ",
                human_bytes(pool.idle), ", padding ", human_bytes(pool.padding), ")\n");
  }
  out += text("last window: ", w.tasks, " tasks, ", w.tensors, " tensors, planned peak ",
              human_bytes(w.planned_peak), ", lower bound ", human_bytes(w.lower_bound), ", ratio ",
              ratio_text(w.planned_peak, w.lower_bound), ", ", w.pages, " pages, ", w.levels,
              " levels, ", w.barriers, " barriers, ", w.hazards, " hazards, ", w.repairs,
              " repairs, ", w.in_place, " in place, ", w.bind_groups, " new bind groups, ",
              human_bytes(w.pages_made), " of pages made\n");
  out += text("so far: ", report.windows, " windows, ", report.tasks, " tasks, ", report.pages_made,
              " pages made, ", report.relocations, " relocations, ", report.bounces, " bounces, ",
              report.promotions, " promotions, ", report.renames, " renames\n");
  if (report.held_unused_bytes != 0) {
    out += text("held and not used by the last window: ", human_bytes(report.held_unused_bytes),
                " in ", report.held_unused.size(), " tensors\n");
  }
  return out;
}

}  // namespace berth
