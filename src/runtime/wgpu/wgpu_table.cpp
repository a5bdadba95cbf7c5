// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_table.hpp"

#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::wgpu {

namespace {

template <class Function>
void fill(Function& slot, const Lookup& lookup, const char* name) {
  slot = reinterpret_cast<Function>(lookup(name));
}

template <class Function>
void require(Function& slot, const Lookup& lookup, const char* name, const std::string& from) {
  fill(slot, lookup, name);
  if (slot == nullptr) {
    throw Error(ErrorCode::unavailable,
                text("The WebGPU library ", from, " lacks the function ", name,
                     ", which this runtime calls: use wgpu-native 29 or a Dawn of its time."));
  }
}

LibraryKind kind_of(const Lookup& lookup) {
  // Both names are extras of one library, and looking them up calls nothing.
  if (lookup("wgpuGetVersion") != nullptr && lookup("wgpuDevicePoll") != nullptr) {
    return LibraryKind::wgpu_native;
  }
  if (lookup("wgpuDeviceTick") != nullptr && lookup("wgpuDeviceInjectError") != nullptr) {
    return LibraryKind::dawn;
  }
  return LibraryKind::other;
}

}  // namespace

const char* name_of(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::wgpu_native:
      return "wgpu-native";
    case LibraryKind::dawn:
      return "Dawn";
    case LibraryKind::other:
      return "another WebGPU library";
  }
  return "?";
}

Table fill_table(const Lookup& lookup, const std::string& from) {
  Table table;
  table.kind = kind_of(lookup);
#define BERTH_WGPU_FILL(name) require(table.name, lookup, "wgpu" #name, from);
  BERTH_WGPU_REQUIRED(BERTH_WGPU_FILL)
#undef BERTH_WGPU_FILL
  if (table.kind == LibraryKind::wgpu_native) {
#define BERTH_WGPU_FILL(name) fill(table.name, lookup, "wgpu" #name);
    BERTH_WGPU_NATIVE(BERTH_WGPU_FILL)
#undef BERTH_WGPU_FILL
  }
  return table;
}

std::span<const char* const> required_entry_points() {
#define BERTH_WGPU_NAME(name) "wgpu" #name,
  static constexpr std::array kNames{BERTH_WGPU_REQUIRED(BERTH_WGPU_NAME)};
#undef BERTH_WGPU_NAME
  return kNames;
}

}  // namespace berth::runtime::wgpu
