// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <cmath>

namespace berth {

std::string human_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < kKiB) return text(bytes, bytes == 1 ? " byte" : " bytes");
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  const auto hundredths = static_cast<std::uint64_t>(std::llround(value * 100.0));
  std::string out = text(hundredths / 100);
  if (hundredths % 100 != 0) {
    out += text('.', hundredths / 10 % 10);
    if (hundredths % 10 != 0) out += text(hundredths % 10);
  }
  return text(out, ' ', kUnits[unit]);
}

}  // namespace berth
