// SPDX-License-Identifier: Apache-2.0
#include "client/tensor_state.hpp"

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth {

namespace client {

void retain(TensorState* tensor) noexcept {
  tensor->handles.fetch_add(1, std::memory_order_relaxed);
}

void drop(TensorState* tensor) noexcept {
  if (tensor->handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (tensor->server == nullptr) {
    delete tensor;  // NOLINT(cppcoreguidelines-owning-memory): intrusive count
    return;
  }
  // The server frees it. The queue must outlive the push, which hands the tensor over.
  const std::shared_ptr<memory::DropQueue> server = tensor->server;
  if (!server->push(*tensor))
    delete tensor;  // NOLINT(cppcoreguidelines-owning-memory): client gone
}

std::string describe(const TensorState& tensor) {
  if (!tensor.label.empty()) return text('\'', tensor.label, "' (", tensor.bytes, " bytes)");
  return text("#", tensor.id, " (", tensor.bytes, " bytes, made at ", tensor.made_at.file_name(),
              ':', tensor.made_at.line(), ")");
}

}  // namespace client

namespace {

client::TensorState& state_of(const Handle& handle) {
  if (!handle) {
    throw Error(
        ErrorCode::invalid_argument,
        "The handle is null: it was default-made or moved from. Make a tensor with empty(), "
        "zeros() or create().");
  }
  return *handle.state();
}

}  // namespace

std::uint64_t Handle::id() const { return state_of(*this).id; }
Bytes Handle::bytes() const { return state_of(*this).bytes; }
Bytes Handle::capacity() const { return state_of(*this).capacity; }
const std::string& Handle::label() const { return state_of(*this).label; }
const std::source_location& Handle::made_at() const { return state_of(*this).made_at; }
bool Handle::can_mut() const {
  return state_of(*this).handles.load(std::memory_order_acquire) == 1;
}
bool Handle::is_mapped() const { return state_of(*this).mapped.load(std::memory_order_acquire); }
bool Handle::has_contents() const {
  const client::TensorState& tensor = state_of(*this);
  return tensor.bytes == 0 || tensor.contents.load(std::memory_order_acquire);
}
bool Handle::failed() const { return state_of(*this).failed.load(std::memory_order_acquire); }

Slice Handle::slice(Bytes offset, Bytes bytes) const {
  const client::TensorState& tensor = state_of(*this);
  if (bytes == kWholeSize && offset <= tensor.bytes) bytes = tensor.bytes - offset;
  if (offset % 4 != 0 || bytes % 4 != 0) {
    throw Error(ErrorCode::invalid_argument,
                text("A slice of tensor ", describe(tensor), " has offset ", offset, " and ", bytes,
                     " bytes; both must be multiples of 4."));
  }
  if (offset > tensor.bytes || bytes > tensor.bytes - offset) {
    throw Error(ErrorCode::invalid_argument,
                text("A slice of tensor ", describe(tensor), " has offset ", offset, " and ", bytes,
                     " bytes, which ends beyond the tensor."));
  }
  return {*this, {offset, bytes}};
}

}  // namespace berth
