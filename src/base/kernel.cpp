// SPDX-License-Identifier: Apache-2.0
#include "berth/kernel.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth {

const char* name_of(Element element) {
  switch (element) {
    case Element::f32:
      return "f32";
    case Element::i32:
      return "i32";
    case Element::u32:
      return "u32";
    case Element::f16:
      return "f16";
  }
  return "?";
}

const char* name_of(Target target) {
  switch (target) {
    case Target::wgsl:
      return "WGSL";
    case Target::cuda:
      return "CUDA";
    case Target::cpu:
      return "CPU";
  }
  return "?";
}

struct KernelData {
  KernelSignature signature;
  std::vector<KernelCode> codes;
  std::uint64_t id = 0;
};

namespace {

const BindingSignature* find_binding(const KernelSignature& signature, std::string_view name) {
  const auto found = std::find_if(signature.bindings.begin(), signature.bindings.end(),
                                  [name](const BindingSignature& b) { return b.name == name; });
  return found == signature.bindings.end() ? nullptr : &*found;
}

void refuse(const KernelSignature& signature, const std::string& why) {
  throw Error(ErrorCode::kernel, text("Kernel '", signature.name, "' is malformed: ", why, "."));
}

template <class List>
void check_names(const KernelSignature& signature, const List& list, std::string_view kind) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name.empty()) refuse(signature, text(kind, ' ', i, " has no name"));
    for (std::size_t j = 0; j < i; ++j) {
      if (list[j].name == list[i].name) {
        refuse(signature,
               text(kind, "s ", j, " and ", i, " have the same name '", list[i].name, "'"));
      }
    }
  }
}

void check_in_place(const KernelSignature& signature) {
  for (const InPlaceSignature& pair : signature.in_place) {
    const BindingSignature* input = find_binding(signature, pair.input);
    const BindingSignature* output = find_binding(signature, pair.output);
    if (input == nullptr || output == nullptr) {
      refuse(signature, text("the in-place pair '", pair.input, "' -> '", pair.output,
                             "' names a binding that it does not have"));
    } else if (input->access != Access::read || !writes(output->access)) {
      refuse(signature, text("the in-place pair '", pair.input, "' -> '", pair.output,
                             "' must go from a read binding to a written one"));
    }
  }
}

void check(const KernelSignature& signature, const std::vector<KernelCode>& codes) {
  check_names(signature, signature.bindings, "binding");
  check_names(signature, signature.uniforms, "uniform field");
  check_in_place(signature);
  for (const UniformField& field : signature.uniforms) {
    if (field.components < 1 || field.components > 4 || field.element == Element::f16) {
      refuse(signature, text("uniform field '", field.name,
                             "' must have 1 to 4 components of f32, i32 or u32"));
    }
    if (field.builtin != Builtin::none) {
      if (find_binding(signature, field.binding) == nullptr) {
        refuse(signature, text("the built-in uniform field '", field.name, "' speaks of binding '",
                               field.binding, "', which is not there"));
      }
      if (field.element != Element::u32 || field.components != 1) {
        refuse(signature, text("the built-in uniform field '", field.name, "' must be one u32"));
      }
    }
  }
  if (signature.workgroup.count() == 0) refuse(signature, "its workgroup size has a zero");
  if (codes.empty()) refuse(signature, "it has no code for any target");
  for (const KernelCode& code : codes) {
    if (code.target == Target::cpu ? code.function == nullptr : code.source.empty()) {
      refuse(signature, text("its code for ", name_of(code.target), " is empty"));
    }
  }
}

}  // namespace

Kernel::Kernel(KernelSignature signature, std::vector<KernelCode> codes) {
  check(signature, codes);
  static std::atomic<std::uint64_t> next{1};
  data_ = std::make_shared<const KernelData>(
      KernelData{std::move(signature), std::move(codes), next.fetch_add(1)});
}

const KernelSignature& Kernel::signature() const {
  if (data_ == nullptr) throw Error(ErrorCode::invalid_argument, "The kernel is null: make one.");
  return data_->signature;
}

std::uint64_t Kernel::id() const { return data_ == nullptr ? 0 : data_->id; }

const KernelCode* Kernel::code(Target target, Variant variant, std::uint32_t in_place_pairs) const {
  if (data_ == nullptr) return nullptr;
  const auto found =
      std::find_if(data_->codes.begin(), data_->codes.end(), [&](const KernelCode& c) {
        return c.target == target && c.variant == variant && c.in_place_pairs == in_place_pairs;
      });
  return found == data_->codes.end() ? nullptr : &*found;
}

Grid cover(std::uint64_t n, std::uint32_t group) {
  constexpr std::uint64_t kMost = 65535;
  if (group == 0) {
    throw Error(ErrorCode::invalid_argument,
                "cover() was given workgroups of 0 invocations; at least 1 is needed.");
  }
  const std::uint64_t groups = n / group + (n % group != 0 ? 1 : 0);
  if (groups <= kMost) return {static_cast<std::uint32_t>(groups), 1, 1};
  const std::uint64_t rows = groups / kMost + (groups % kMost != 0 ? 1 : 0);
  if (rows > kMost) {
    throw Error(ErrorCode::too_large,
                text("cover() would need ", groups, " workgroups for ", n,
                     " elements; at most 65535 x 65535 are possible: use larger workgroups."));
  }
  return {static_cast<std::uint32_t>((groups + rows - 1) / rows), static_cast<std::uint32_t>(rows),
          1};
}

}  // namespace berth
