// SPDX-License-Identifier: Apache-2.0
//
// The control block behind a handle: one tensor's identity and the counts that decide when its
// memory is free. Made by the client alone; the place is the memory manager's. Handles may be
// retained and dropped from any thread; the fields marked (owner) belong to the thread that
// records.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>

#include "berth/handle.hpp"
#include "berth/units.hpp"
#include "memory/drop_queue.hpp"

namespace berth::client {

struct SlotTag;
class StreamState;

/// Why a tensor's contents are lost; shared by all tensors of a discarded window.
using Failure = std::shared_ptr<const std::string>;

struct TensorState : memory::DropNode {
  TensorState(std::uint64_t tensor_id, std::uint64_t client, Bytes size, TensorOptions options,
              std::source_location where)
      : id(tensor_id),
        client_id(client),
        bytes(size),
        capacity(options.capacity < size ? size : options.capacity),
        label(std::move(options.label)),
        made_at(where) {}

  const std::uint64_t id;
  const std::uint64_t client_id;
  const Bytes bytes;
  const Bytes capacity;
  const std::string label;
  const std::source_location made_at;

  std::atomic<std::uint32_t> handles{1};
  /// Bindings recorded and not yet submitted (owner). They keep the memory from being reassigned.
  std::atomic<std::uint32_t> registered{0};
  /// Set at the first recorded use; a tensor without it is unknown to the server and dies alone.
  std::shared_ptr<memory::DropQueue> server;

  std::atomic<bool> mapped{false};
  std::atomic<bool> contents{false};
  std::atomic<bool> failed{false};
  Failure failure;                     // (owner)
  std::uint32_t slot = ~0U;            // (owner) the manager's index of this tensor
  StreamState* last_stream = nullptr;  // (owner) has unsubmitted uses there
  std::uint64_t window = 0;            // (owner) serial of the window whose `local` this is
  std::uint32_t local = 0;             // (owner) index in that window's list of tensors
  std::uint64_t last_window = 0;       // (owner) the last submitted window that used it
};

/// Names a tensor in a message: its label, or its number and size.
[[nodiscard]] std::string describe(const TensorState& tensor);

}  // namespace berth::client
