// SPDX-License-Identifier: Apache-2.0
//
// A kernel: its signature (named bindings and uniform fields, workgroup size) and its code per
// target and variant. Immutable once made and shared by reference; safe from any thread. Nothing is
// compiled here: a runtime compiles a kernel when it is first launched or prepared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "berth/access.hpp"
#include "berth/units.hpp"

namespace berth {

/// Type of the elements of a storage binding, and of the components of a uniform field.
enum class Element : std::uint8_t { f32, i32, u32, f16 };
[[nodiscard]] constexpr Bytes bytes_of(Element e) { return e == Element::f16 ? 2 : 4; }
[[nodiscard]] const char* name_of(Element element);

/// One storage binding of a kernel.
struct BindingSignature {
  std::string name{};
  Element element = Element::f32;
  Access access = Access::read;
  /// Elements the code's array type holds at least (4 for array<vec4f>): smaller is refused.
  std::uint32_t least_elements = 1;
};

/// What the library fills into a uniform field by itself.
enum class Builtin : std::uint8_t {
  none,           ///< the caller's value
  first_element,  ///< index, within what is bound, of the first element of `binding`'s range
};

/// One field of a kernel's uniform block, in declaration order. Rows of 1 to 4 components.
struct UniformField {
  std::string name{};
  Element element = Element::u32;  ///< f32, i32 or u32
  std::uint32_t components = 1;    ///< 1, 2, 3 or 4: scalar or vecN
  Builtin builtin = Builtin::none;
  std::string binding{};  ///< for builtins: the binding they speak of
};

/// The output may take over the bytes of the input: the kernel reads each element before it writes
/// the same one, and reads it nowhere else.
struct InPlaceSignature {
  std::string input{};
  std::string output{};
};

struct WorkgroupSize {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  [[nodiscard]] constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const WorkgroupSize&, const WorkgroupSize&) = default;
};

/// What a launch must supply.
struct KernelSignature {
  std::string name{};
  std::vector<BindingSignature> bindings{};
  std::vector<UniformField> uniforms{};
  WorkgroupSize workgroup{};
  std::vector<InPlaceSignature> in_place{};
  std::vector<std::string> requires_features{};  ///< "f16", …: refused where the device lacks it
};

/// Languages that runtimes compile or call.
enum class Target : std::uint8_t { wgsl, cuda, cpu };
[[nodiscard]] const char* name_of(Target target);

/// Which form of a kernel's code this is.
enum class Variant : std::uint8_t {
  plain,
  in_place,  ///< one read_write binding stands for a pair of KernelSignature::in_place
  promoted,  ///< every binding read_write
  batched,   ///< page-wide bindings, base offsets per task from a table
};

/// The memory of one binding, as a CPU kernel sees it.
struct CpuBuffer {
  std::byte* data = nullptr;
  Bytes bytes = 0;
};

/// One workgroup of a launch, as a CPU kernel sees it. Views only; valid during the call.
class CpuInvocation {
 public:
  CpuInvocation(std::span<const CpuBuffer> buffers, std::span<const std::byte> uniforms,
                std::array<std::uint32_t, 3> group, std::array<std::uint32_t, 3> groups)
      : buffers_(buffers), uniforms_(uniforms), group_(group), groups_(groups) {}

  /// Elements of the binding at position `index` of the signature. T must be const for read
  /// bindings.
  template <class T>
  [[nodiscard]] std::span<T> buffer(std::size_t index) const {
    const CpuBuffer& b = buffers_[index];
    return {reinterpret_cast<T*>(b.data), static_cast<std::size_t>(b.bytes / sizeof(T))};
  }
  /// The uniform block: fields in order, each component 4 bytes, no padding.
  template <class T>
  [[nodiscard]] T uniforms() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, uniforms_.data(),
                sizeof(T) < uniforms_.size() ? sizeof(T) : uniforms_.size());
    return value;
  }
  [[nodiscard]] std::array<std::uint32_t, 3> group() const { return group_; }
  [[nodiscard]] std::array<std::uint32_t, 3> groups() const { return groups_; }

 private:
  std::span<const CpuBuffer> buffers_;
  std::span<const std::byte> uniforms_;
  std::array<std::uint32_t, 3> group_;
  std::array<std::uint32_t, 3> groups_;
};

/// Computes one workgroup; called for each of them, in any order, from several threads at once.
using CpuFunction = void (*)(const CpuInvocation&);

/// One form of a kernel for one target.
struct KernelCode {
  Target target = Target::wgsl;
  Variant variant = Variant::plain;
  /// For in_place: bit i = the pair KernelSignature::in_place[i] shares one binding.
  std::uint32_t in_place_pairs = 0;
  /// WGSL or CUDA source. WGSL: binding i of the signature is @group(0) @binding(i), the uniform
  /// block is @group(1) @binding(0). An in-place variant leaves out the pair's input binding.
  std::string source{};
  std::string entry = "main";
  CpuFunction function = nullptr;
  /// Offsets of the uniform fields in the block and its size, where the code does not follow the
  /// target's own rules (reflected from a compiler); empty and 0 = the rules.
  std::vector<std::uint32_t> uniform_offsets{};
  std::uint32_t uniform_bytes = 0;
  /// All loops are known to end: a guard against endless loops may be dropped. Memory checks stay.
  bool loops_end = false;
};

struct KernelData;

/// A shared, immutable kernel.
class Kernel {
 public:
  Kernel() = default;
  /// Errors: Error(kernel) for a malformed signature (duplicate or empty names, an in-place pair
  /// that names no binding, a builtin without binding, a zero workgroup, no code).
  Kernel(KernelSignature signature, std::vector<KernelCode> codes);

  [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] const KernelSignature& signature() const;
  [[nodiscard]] const std::string& name() const { return signature().name; }
  /// Unique in the process, never reused.
  [[nodiscard]] std::uint64_t id() const;
  /// The code of that form, or nullptr.
  [[nodiscard]] const KernelCode* code(Target target, Variant variant = Variant::plain,
                                       std::uint32_t in_place_pairs = 0) const;

 private:
  std::shared_ptr<const KernelData> data_;
};

/// Workgroups per dimension.
struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  [[nodiscard]] constexpr bool empty() const { return x == 0 || y == 0 || z == 0; }
  [[nodiscard]] constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// The grid of workgroups of `group` invocations that covers `n` elements. Above 65,535 workgroups
/// it is two-dimensional; a kernel then finds its element by
/// `(group.y * groups.x + group.x) * group_size + local` and must ignore those from `n` on.
/// Errors: Error(invalid_argument) if `group` is 0, Error(too_large) if 65,535² workgroups are not
/// enough.
[[nodiscard]] Grid cover(std::uint64_t n, std::uint32_t group);

}  // namespace berth
