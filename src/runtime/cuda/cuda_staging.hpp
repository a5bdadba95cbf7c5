// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory for what a submission sends along by itself: its uniform blocks, and counts
// read back. A chunk goes to one submission and comes back when that is done. One thread at a time
// (the submission lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"

namespace berth::runtime::cuda {

class Staging {
 public:
  explicit Staging(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// Room that stays the taker's until submission `ticket` is done; `done` is the last one that is.
  /// Errors: Error(device); DeviceLost.
  [[nodiscard]] std::byte* take(Bytes bytes, std::uint64_t ticket, std::uint64_t done);
  /// Chunks made so far: a steady state makes none.
  [[nodiscard]] std::size_t chunks() const { return chunks_.size(); }

 private:
  struct Chunk {
    std::byte* data = nullptr;
    Bytes bytes = 0;
    std::uint64_t ticket = 0;
  };
  std::shared_ptr<const Device> device_;
  std::vector<Chunk> chunks_;
};

}  // namespace berth::runtime::cuda
