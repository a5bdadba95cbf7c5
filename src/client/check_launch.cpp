// SPDX-License-Identifier: Apache-2.0
#include "client/check_launch.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::client {

namespace {

[[noreturn]] void misuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

void check_uniforms(const KernelSignature& signature, const Uniforms& uniforms) {
  const auto given = uniforms.types();
  std::size_t next = 0;
  for (const UniformField& field : signature.uniforms) {
    if (field.builtin != Builtin::none) continue;
    if (next == given.size()) {
      misuse(text("launch of kernel '", signature.name, "': its uniform field '", field.name,
                  "' got no value; ", given.size(), " values were given."));
    }
    const Uniforms::Type type = given[next++];
    if (type.element != field.element || type.components != field.components) {
      misuse(text("launch of kernel '", signature.name, "': uniform field '", field.name, "' is ",
                  field.components, " x ", name_of(field.element), ", but ",
                  std::uint32_t{type.components}, " x ", name_of(type.element), " was given."));
    }
  }
  if (next != given.size()) {
    misuse(text("launch of kernel '", signature.name, "': it has ", next, " uniform fields, but ",
                given.size(), " values were given."));
  }
}

void check_grid(const KernelSignature& signature, Grid grid, const runtime::Limits& limits) {
  const std::uint32_t most = std::max({grid.x, grid.y, grid.z});
  if (most > limits.max_groups_per_dimension) {
    throw Error(
        ErrorCode::too_large,
        text("launch of kernel '", signature.name, "': a grid of ", grid.x, " x ", grid.y, " x ",
             grid.z, " workgroups exceeds the device's limit of ", limits.max_groups_per_dimension,
             " per dimension; berth::cover() gives a grid that fits."));
  }
}

void check_range(const BindingSignature& binding, const Window::NewUse& use,
                 const runtime::Limits& limits, const Where& where) {
  const Bytes element = bytes_of(binding.element);
  if (use.range.empty()) return;
  if (use.range.offset % element != 0) {
    misuse(text(where.sentence(), ", tensor ", describe(*use.tensor), ": its range ",
                to_text(use.range), " does not begin at a multiple of the ", element,
                " bytes of its element ", name_of(binding.element), "."));
  }
  if (use.range.bytes < element * binding.least_elements) {
    misuse(text(where.sentence(), ", tensor ", describe(*use.tensor), ": ", use.range.bytes,
                " bytes are bound, but the kernel needs at least ", binding.least_elements,
                " elements of ", element, " bytes."));
  }
  if (use.range.bytes > limits.max_binding_bytes) {
    throw Error(ErrorCode::too_large,
                text(where.sentence(), ", tensor ", describe(*use.tensor), ": ", use.range.bytes,
                     " bytes are bound, but the device binds at most ", limits.max_binding_bytes,
                     "; bind slices of it."));
  }
}

bool whole(const Window::NewUse& use) { return use.range == Range{0, use.tensor->bytes}; }

std::string pair_text(const KernelSignature& signature, std::size_t i, std::size_t j,
                      const std::vector<Window::NewUse>& uses) {
  return text("launch of kernel '", signature.name, "': binding '", signature.bindings[i].name,
              "' (", name_of(uses[i].access), ' ', to_text(uses[i].range), ") and binding '",
              signature.bindings[j].name, "' (", name_of(uses[j].access), ' ',
              to_text(uses[j].range), ") of tensor ", describe(*uses[i].tensor));
}

// Two bindings of one tensor: a whole write beside a read is fine, it starts a new version.
void check_pair(const KernelSignature& signature, std::size_t i, std::size_t j,
                const std::vector<Window::NewUse>& uses) {
  const Window::NewUse& a = uses[i];
  const Window::NewUse& b = uses[j];
  if (a.tensor != b.tensor || (!writes(a.access) && !writes(b.access))) return;
  const bool renames = (a.access == Access::write && whole(a) && !writes(b.access)) ||
                       (b.access == Access::write && whole(b) && !writes(a.access));
  if (renames) return;
  if (a.range.overlaps(b.range)) {
    misuse(text(pair_text(signature, i, j, uses),
                " overlap and one of them is written; bind disjoint ranges, or write a tensor of "
                "its own."));
  }
}

void check_pairs(const KernelSignature& signature, const std::vector<Window::NewUse>& uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].range.empty()) continue;
    for (std::size_t j = i + 1; j < uses.size(); ++j) {
      if (!uses[j].range.empty()) check_pair(signature, i, j, uses);
    }
  }
}

// The counts of an indirect launch are read by the device: 12 bytes, which the launch itself may
// not write.
void add_counts(const Binding& counts, std::uint64_t client_id, const KernelSignature& signature,
                std::vector<Window::NewUse>& uses) {
  const std::string verb = text("indirect launch of kernel '", signature.name, "', counts");
  const Where where{verb, nullptr, nullptr};
  Window::NewUse use = resolve(counts, Access::read, client_id, where);
  if (use.range.bytes != 12) {
    misuse(text(verb, ": ", use.range.bytes,
                " bytes were given, but three counts of 4 bytes are needed; pass a slice of 12."));
  }
  check_contents(use, where);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].tensor == use.tensor && writes(uses[i].access) && !whole(uses[i]) &&
        uses[i].range.overlaps(use.range)) {
      misuse(text(verb, ": the launch writes them itself through binding '",
                  signature.bindings[i].name, "'; write another tensor."));
    }
  }
  uses.push_back(use);
}

void check_features(const KernelSignature& signature, const runtime::Capabilities& device) {
  for (const std::string& feature : signature.requires_features) {
    if (std::ranges::find(device.features, feature) == device.features.end()) {
      throw Error(ErrorCode::unavailable,
                  text("launch of kernel '", signature.name, "': it needs the feature '", feature,
                       "', which this device does not have."));
    }
  }
  if (signature.bindings.size() > device.limits.max_storage_bindings) {
    throw Error(ErrorCode::too_large,
                text("launch of kernel '", signature.name, "': it has ", signature.bindings.size(),
                     " bindings, but the device allows ", device.limits.max_storage_bindings, "."));
  }
}

}  // namespace

std::string Where::sentence() const {
  if (kernel == nullptr) return std::string(verb);
  return text("launch of kernel '", kernel->name, "', binding '", binding->name, "'");
}

Window::NewUse resolve(const Binding& binding, Access access, std::uint64_t client_id,
                       const Where& where) {
  TensorState* tensor = binding.tensor();
  if (tensor == nullptr) {
    misuse(text(where.sentence(), ": its handle is null; it was default-made or moved from."));
  }
  if (tensor->client_id != client_id) {
    misuse(
        text(where.sentence(), ": tensor ", describe(*tensor),
             " belongs to another client; a tensor can only be used by the client that made it."));
  }
  Range range = binding.range();
  if (range.bytes == kWholeSize && range.offset <= tensor->bytes) {
    range.bytes = tensor->bytes - range.offset;
  }
  if (range.offset > tensor->bytes || range.bytes > tensor->bytes - range.offset) {
    misuse(text(where.sentence(), ": offset ", range.offset, " and ", range.bytes,
                " bytes end beyond tensor ", describe(*tensor), "."));
  }
  if (range.offset % 4 != 0 || range.bytes % 4 != 0) {
    misuse(text(where.sentence(), ": its range ", to_text(range),
                " is not made of multiples of 4 bytes."));
  }
  return {tensor, access, binding.handed_over(), range};
}

void check_contents(const Window::NewUse& use, const Where& where) {
  const TensorState& tensor = *use.tensor;
  if (use.range.empty() || use.access == Access::write) return;
  if (tensor.failed.load(std::memory_order_relaxed)) {
    throw Error(
        ErrorCode::failed,
        text(where.sentence(), ": the contents of tensor ", describe(tensor), " were lost: ",
             tensor.failure != nullptr ? *tensor.failure : std::string("unknown reason"),
             " Write it again before reading it."));
  }
  if (use.access == Access::read && !tensor.contents.load(std::memory_order_relaxed)) {
    throw Error(
        ErrorCode::no_contents,
        text(where.sentence(), ": tensor ", describe(tensor),
             " is read, but nothing has written it yet; upload to it or launch a kernel that "
             "writes it first."));
  }
}

bool resolve_launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                    const Binding* counts, const Uniforms& uniforms, std::uint64_t client_id,
                    const runtime::Capabilities& device, std::vector<Window::NewUse>& uses) {
  const KernelSignature& signature = kernel.signature();
  if (bindings.size() != signature.bindings.size()) {
    misuse(text("launch of kernel '", signature.name, "': it has ", signature.bindings.size(),
                " bindings, but ", bindings.size(), " were given."));
  }
  check_features(signature, device);
  check_uniforms(signature, uniforms);
  check_grid(signature, grid, device.limits);
  uses.clear();
  bool writes_nothing = true;
  bool has_written_binding = false;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const BindingSignature& binding = signature.bindings[i];
    const Where where{{}, &signature, &binding};
    uses.push_back(resolve(bindings[i], binding.access, client_id, where));
    check_range(binding, uses.back(), device.limits, where);
    check_contents(uses.back(), where);
    has_written_binding = has_written_binding || writes(binding.access);
    if (writes(binding.access) && !uses.back().range.empty()) writes_nothing = false;
  }
  check_pairs(signature, uses);
  if (counts != nullptr) add_counts(*counts, client_id, signature, uses);
  return !grid.empty() && !(has_written_binding && writes_nothing);
}

}  // namespace berth::client
