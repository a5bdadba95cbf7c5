// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_staging.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"

namespace berth::runtime::cuda {

namespace {

constexpr Bytes kLeastChunk = 16 * kKiB;

}  // namespace

Staging::~Staging() {
  const ContextScope scope(*device_);
  for (const Chunk& chunk : chunks_) device_->api().MemFreeHost(chunk.data);
}

std::byte* Staging::take(Bytes bytes, std::uint64_t ticket, std::uint64_t done) {
  Chunk* best = nullptr;
  for (Chunk& chunk : chunks_) {
    if (chunk.ticket > done || chunk.bytes < bytes) continue;
    if (best == nullptr || chunk.bytes < best->bytes) best = &chunk;
  }
  if (best == nullptr) {
    const Bytes size = std::max(kLeastChunk, std::bit_ceil(bytes));
    void* data = nullptr;
    device_->check(device_->api().MemHostAlloc(&data, static_cast<std::size_t>(size), 0),
                   text("making ", size, " bytes of pinned memory for uniforms"));
    chunks_.push_back({static_cast<std::byte*>(data), size, 0});
    best = &chunks_.back();
  }
  best->ticket = ticket;
  return best->data;
}

}  // namespace berth::runtime::cuda
