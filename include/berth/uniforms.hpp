// SPDX-License-Identifier: Apache-2.0
//
// The values of a launch's uniform fields: typed, in declaration order, without padding. They are
// packed into the target's layout when the window closes. Plain value without heap memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

#include "berth/kernel.hpp"

namespace berth {

namespace detail {

struct Anything {
  template <class T>
  constexpr operator T() const;  // NOLINT: only ever named in unevaluated code
};
template <class T, std::size_t... I>
constexpr bool makes_from(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
/// Number of fields of an aggregate, up to 12 (13 = too many).
template <class T, std::size_t N = 13>
constexpr std::size_t field_count() {
  if constexpr (makes_from<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    static_assert(N > 0, "a uniform struct is an aggregate of up to 12 fields");
    return field_count<T, N - 1>();
  }
}

template <class T>
struct UniformType {
  static constexpr bool kKnown = false;
};
template <>
struct UniformType<float> {
  static constexpr bool kKnown = true;
  static constexpr Element kElement = Element::f32;
  static constexpr std::uint8_t kComponents = 1;
};
template <>
struct UniformType<std::int32_t> {
  static constexpr bool kKnown = true;
  static constexpr Element kElement = Element::i32;
  static constexpr std::uint8_t kComponents = 1;
};
template <>
struct UniformType<std::uint32_t> {
  static constexpr bool kKnown = true;
  static constexpr Element kElement = Element::u32;
  static constexpr std::uint8_t kComponents = 1;
};
template <class T, std::size_t N>
struct UniformType<std::array<T, N>> {
  static constexpr bool kKnown = UniformType<T>::kKnown && N >= 2 && N <= 4;
  static constexpr Element kElement = UniformType<T>::kElement;
  static constexpr std::uint8_t kComponents = static_cast<std::uint8_t>(N);
};

}  // namespace detail

/// Values for a kernel's uniform fields (those that are no builtin).
///
/// Made from an aggregate of float, int32_t, uint32_t and std::array of 2 to 4 of these, in the
/// order of the signature: `struct Axpy { float a; uint32_t n; };`. Types are compared with the
/// signature at launch. Another field type does not compile.
class Uniforms {
 public:
  static constexpr std::size_t kMaxFields = 24;
  static constexpr std::size_t kMaxWords = 64;

  struct Type {
    Element element = Element::u32;
    std::uint8_t components = 1;
    friend bool operator==(Type, Type) = default;
  };

  Uniforms() = default;

  template <class T>
    requires(std::is_aggregate_v<T> && !std::is_array_v<T>)
  Uniforms(const T& value) {  // NOLINT: reads as prose at the call
    add_all<detail::field_count<T>()>(value);
  }

  /// Appends one value. Errors: Error(invalid_argument) above 24 fields or 64 components.
  template <class T>
    requires(detail::UniformType<T>::kKnown)
  void add(const T& value) {
    using Info = detail::UniformType<T>;
    static_assert(sizeof(T) == 4 * Info::kComponents);
    add_words({Info::kElement, Info::kComponents},
              std::bit_cast<std::array<std::uint32_t, Info::kComponents>>(value));
  }

  [[nodiscard]] std::span<const std::uint32_t> words() const {
    return {words_.data(), word_count_};
  }
  [[nodiscard]] std::span<const Type> types() const { return {types_.data(), field_count_}; }

 private:
  void add_words(Type type, std::span<const std::uint32_t> words);

  template <std::size_t N, class T>
  void add_all(const T& v) {
    // clang-format off
    if constexpr (N == 0) {}
    else if constexpr (N == 1) { const auto& [a] = v; each(a); }
    else if constexpr (N == 2) { const auto& [a, b] = v; each(a, b); }
    else if constexpr (N == 3) { const auto& [a, b, c] = v; each(a, b, c); }
    else if constexpr (N == 4) { const auto& [a, b, c, d] = v; each(a, b, c, d); }
    else if constexpr (N == 5) { const auto& [a, b, c, d, e] = v; each(a, b, c, d, e); }
    else if constexpr (N == 6) { const auto& [a, b, c, d, e, f] = v; each(a, b, c, d, e, f); }
    else if constexpr (N == 7) { const auto& [a, b, c, d, e, f, g] = v; each(a, b, c, d, e, f, g); }
    else if constexpr (N == 8) { const auto& [a, b, c, d, e, f, g, h] = v; each(a, b, c, d, e, f, g, h); }
    else if constexpr (N == 9) { const auto& [a, b, c, d, e, f, g, h, i] = v; each(a, b, c, d, e, f, g, h, i); }
    else if constexpr (N == 10) { const auto& [a, b, c, d, e, f, g, h, i, j] = v; each(a, b, c, d, e, f, g, h, i, j); }
    else if constexpr (N == 11) { const auto& [a, b, c, d, e, f, g, h, i, j, k] = v; each(a, b, c, d, e, f, g, h, i, j, k); }
    else if constexpr (N == 12) { const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v; each(a, b, c, d, e, f, g, h, i, j, k, l); }
    else { static_assert(N <= 12, "a struct of more than 12 fields: use Uniforms::add for each value"); }
    // clang-format on
  }
  template <class... F>
  void each(const F&... fields) {
    (add(fields), ...);
  }

  std::array<std::uint32_t, kMaxWords> words_;
  std::array<Type, kMaxFields> types_;
  std::uint32_t word_count_ = 0;
  std::uint32_t field_count_ = 0;
};

}  // namespace berth
