// SPDX-License-Identifier: Apache-2.0
//
// Random windows, the same on every platform. For tests of the planner.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "window_table.hpp"

namespace berth::plan::table {

/// Numbers below a bound; std's distributions differ between platforms.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  bool one_in(std::uint32_t count) { return below(count) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// Whether sizes are multiples of the alignment, as sizes in files are.
enum class Sizes : std::uint8_t { whole, ragged };

/// A window of up to `most` versions of whole uses: tasks that read recent versions and write new
/// ones, some in place, some much larger than others.
inline Problem random_window(std::uint64_t seed, std::uint32_t most, Sizes kind) {
  Dice dice(seed);
  const std::uint32_t count = 1 + dice.below(most);
  const Bytes alignment = dice.one_in(2) ? 1 : Bytes{1} << dice.below(9);
  const std::uint32_t largest = 1 + dice.below(20);
  std::vector<Bytes> sizes;
  for (std::uint32_t v = 0; v < count; ++v) {
    const Bytes units = 1 + dice.below(dice.one_in(3) ? 4 * largest : largest);
    const Bytes rest = kind == Sizes::ragged && dice.one_in(2) ? alignment / 2 : 0;
    sizes.push_back(dice.one_in(40) ? 0 : units * alignment - rest);
  }
  std::vector<Row> rows;
  for (std::uint32_t born = 0; born < count;) {
    Row row;
    std::vector<std::uint32_t> touched(count, 0);
    const std::uint32_t reads = dice.below(4);
    for (std::uint32_t i = 0; i < reads && born > 0; ++i) {
      const std::uint32_t back = dice.below(dice.one_in(3) ? born : std::min(born, 4U));
      const std::uint32_t v = born - 1 - back;
      if (touched[v] != 0) continue;
      touched[v] = 1;
      (dice.one_in(6) ? row.updates : row.reads).push_back(v);
    }
    if (!dice.one_in(8)) row.writes.push_back(born++);
    if (born < count && dice.one_in(5)) row.writes.push_back(born++);
    rows.push_back(row);
  }
  if (dice.one_in(3)) rows.push_back({.reads = {dice.below(count)}});
  Problem problem = window(sizes, rows, alignment);
  for (Version& version : problem.versions) {
    version.incoming = dice.one_in(12);
    version.outlives = dice.one_in(12);
  }
  return problem;
}

}  // namespace berth::plan::table
