// SPDX-License-Identifier: Apache-2.0
//
// Bytes, ranges and strong ids: the words every room shares. All sizes are 64-bit and in bytes,
// all ranges are half-open [offset, offset + bytes). Pure values; safe from any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace berth {

/// A size or an offset. Units: bytes, never elements.
using Bytes = std::uint64_t;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

/// Means "to the end" where a number of bytes is expected.
inline constexpr Bytes kWholeSize = std::numeric_limits<Bytes>::max();

/// A half-open interval of bytes inside a tensor or a page.
struct Range {
  Bytes offset = 0;
  Bytes bytes = 0;

  /// One past the last byte; saturates instead of wrapping around.
  [[nodiscard]] constexpr Bytes end() const {
    return bytes > kWholeSize - offset ? kWholeSize : offset + bytes;
  }
  [[nodiscard]] constexpr bool empty() const { return bytes == 0; }
  /// True if both share at least one byte; an empty range overlaps nothing.
  [[nodiscard]] constexpr bool overlaps(Range other) const {
    return bytes != 0 && other.bytes != 0 && offset < other.end() && other.offset < end();
  }
  [[nodiscard]] constexpr bool contains(Range other) const {
    return other.offset >= offset && other.end() <= end();
  }
  friend constexpr bool operator==(Range, Range) = default;
  friend constexpr auto operator<=>(Range, Range) = default;
};

/// The smallest multiple of `alignment` that is not below `value`; `alignment` must not be zero.
[[nodiscard]] constexpr Bytes align_up(Bytes value, Bytes alignment) {
  const Bytes rest = value % alignment;
  return rest == 0 ? value : value + (alignment - rest);
}
[[nodiscard]] constexpr Bytes align_down(Bytes value, Bytes alignment) {
  return value - value % alignment;
}

/// An index or identity that cannot be mixed up with another kind of index. `Tag` is never defined.
template <class Tag, class Value = std::uint32_t>
struct Id {
  static constexpr Value kNone = std::numeric_limits<Value>::max();
  Value value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(Value v) : value(v) {}
  [[nodiscard]] constexpr bool valid() const { return value != kNone; }
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace berth

template <class Tag, class Value>
struct std::hash<berth::Id<Tag, Value>> {
  std::size_t operator()(berth::Id<Tag, Value> id) const noexcept {
    return std::hash<Value>{}(id.value);
  }
};
