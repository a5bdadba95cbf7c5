// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_table.hpp"

#include <array>

#include "base/text.hpp"
#include "berth/error.hpp"

// Twice, so that cuda.h's macros put the version on the name first.
#define BERTH_CUDA_TEXT(name) #name
#define BERTH_CUDA_NAME(name) BERTH_CUDA_TEXT(name)

namespace berth::runtime::cuda {

namespace {

template <class Function>
void require(Function& slot, const Lookup& lookup, const char* name, const std::string& from) {
  slot = reinterpret_cast<Function>(lookup(name));
  if (slot == nullptr) {
    throw Error(ErrorCode::unavailable,
                text("The CUDA library ", from, " lacks the function ", name,
                     ", which this runtime calls: CUDA 12.0 or newer is needed."));
  }
}

}  // namespace

DriverTable fill_driver(const Lookup& lookup, const std::string& from) {
  DriverTable table;
#define BERTH_CUDA_FILL(name) require(table.name, lookup, BERTH_CUDA_NAME(cu##name), from);
  BERTH_CUDA_DRIVER(BERTH_CUDA_FILL)
#undef BERTH_CUDA_FILL
  return table;
}

NvrtcTable fill_nvrtc(const Lookup& lookup, const std::string& from) {
  NvrtcTable table;
#define BERTH_CUDA_FILL(name) require(table.name, lookup, BERTH_CUDA_NAME(nvrtc##name), from);
  BERTH_CUDA_NVRTC(BERTH_CUDA_FILL)
#undef BERTH_CUDA_FILL
  return table;
}

std::span<const char* const> driver_entry_points() {
#define BERTH_CUDA_ENTRY(name) BERTH_CUDA_NAME(cu##name),
  static constexpr std::array kNames{BERTH_CUDA_DRIVER(BERTH_CUDA_ENTRY)};
#undef BERTH_CUDA_ENTRY
  return kNames;
}

}  // namespace berth::runtime::cuda
