// SPDX-License-Identifier: Apache-2.0
//
// What reached WebGPU, as plain data: one struct per call, in the order of the calls. Objects are
// numbered in order of creation and a number is never used twice (addresses are). Written by the
// recorder or by hand, read by the judge; knows neither webgpu.h nor berth.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace berth::test {

/// The number of an object; 0 = none, or one that the recorder has never seen.
using ObjectId = std::uint32_t;

/// Size of a range that the recorder could not resolve.
inline constexpr std::uint64_t kUnknownSize = ~std::uint64_t{0};

/// Bits of BufferMade::usage, with the values of WGPUBufferUsage.
namespace usage {
inline constexpr std::uint64_t kMapRead = 0x1;
inline constexpr std::uint64_t kMapWrite = 0x2;
inline constexpr std::uint64_t kCopySource = 0x4;
inline constexpr std::uint64_t kCopyTarget = 0x8;
inline constexpr std::uint64_t kUniform = 0x40;
inline constexpr std::uint64_t kStorage = 0x80;
inline constexpr std::uint64_t kIndirect = 0x100;
inline constexpr std::uint64_t kQueryResolve = 0x200;
}  // namespace usage

// Devices.
struct DeviceSeen {
  ObjectId device = 0;
  std::uint64_t storage_alignment = 256;
  std::uint64_t uniform_alignment = 256;
};
struct DeviceWasLost {
  ObjectId device = 0;
  std::string reason;
};

// Buffers.
struct BufferMade {
  ObjectId buffer = 0;
  ObjectId device = 0;
  std::uint64_t size = 0;
  std::uint64_t usage = 0;
  bool mapped = false;
  std::string label;
};
struct BufferDestroyed {
  ObjectId buffer = 0;
};
/// The last reference of the caller's is gone; bind groups may still hold it.
struct BufferReleased {
  ObjectId buffer = 0;
};
struct BufferWritten {  ///< queue.writeBuffer
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct MapAsked {
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct MapAnswered {
  ObjectId buffer = 0;
  bool mapped = false;
  std::string message;
};
struct Unmapped {
  ObjectId buffer = 0;
};

// Layouts, bind groups, pipelines.
enum class BindingType : std::uint8_t { other, uniform, storage, read_only_storage };
struct LayoutEntry {
  std::uint32_t binding = 0;
  BindingType type = BindingType::storage;
  bool dynamic = false;
  std::uint64_t least_bytes = 0;
};
struct LayoutMade {
  ObjectId layout = 0;
  std::vector<LayoutEntry> entries;
  bool known = true;  ///< false: derived from a shader, entries are not seen
};
struct PipelineLayoutMade {
  ObjectId layout = 0;
  std::vector<ObjectId> groups;  ///< LayoutMade::layout, 0 = no group at that index
};
struct PipelineMade {
  ObjectId pipeline = 0;
  ObjectId layout = 0;  ///< PipelineLayoutMade::layout; 0 = derived from the shader
  std::string label;
  std::string entry_point;
};
struct GroupEntry {
  std::uint32_t binding = 0;
  ObjectId buffer = 0;  ///< 0 = no buffer
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< "whole size" is resolved
};
struct GroupMade {
  ObjectId group = 0;
  ObjectId layout = 0;
  std::vector<GroupEntry> entries;
  std::string label;
};

// Commands.
struct EncoderMade {
  ObjectId encoder = 0;
  ObjectId device = 0;
  std::string label;
};
struct PassBegun {
  ObjectId pass = 0;
  ObjectId encoder = 0;
  std::string label;
};
struct PipelineSet {
  ObjectId pass = 0;
  ObjectId pipeline = 0;
};
struct GroupSet {
  ObjectId pass = 0;
  std::uint32_t index = 0;
  ObjectId group = 0;  ///< 0 = unset
  std::vector<std::uint32_t> dynamic_offsets;
};
struct Dispatched {
  ObjectId pass = 0;
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};
struct DispatchedIndirect {
  ObjectId pass = 0;
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
};
struct PassEnded {
  ObjectId pass = 0;
};
struct Copied {
  ObjectId encoder = 0;
  ObjectId source = 0;
  std::uint64_t source_offset = 0;
  ObjectId target = 0;
  std::uint64_t target_offset = 0;
  std::uint64_t bytes = 0;
};
struct Cleared {
  ObjectId encoder = 0;
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Resolved {  ///< a query set, into a buffer
  ObjectId encoder = 0;
  ObjectId buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Finished {
  ObjectId encoder = 0;
  ObjectId commands = 0;
  std::string label;
};
struct Submitted {
  std::vector<ObjectId> commands;
};

// Errors. A scope has a number of its own, since its answer may come later.
enum class ErrorFilter : std::uint8_t { validation, out_of_memory, internal };
struct ScopePushed {
  ObjectId device = 0;
  ErrorFilter filter = ErrorFilter::validation;
};
struct ScopePopped {
  ObjectId device = 0;
  ObjectId answer = 0;
};
struct ScopeAnswered {
  ObjectId answer = 0;
  std::string error;  ///< empty = no error
};
struct ErrorUncaptured {
  std::string message;
};

using Call =
    std::variant<DeviceSeen, DeviceWasLost, BufferMade, BufferDestroyed, BufferReleased,
                 BufferWritten, MapAsked, MapAnswered, Unmapped, LayoutMade, PipelineLayoutMade,
                 PipelineMade, GroupMade, EncoderMade, PassBegun, PipelineSet, GroupSet, Dispatched,
                 DispatchedIndirect, PassEnded, Copied, Cleared, Resolved, Finished, Submitted,
                 ScopePushed, ScopePopped, ScopeAnswered, ErrorUncaptured>;

struct Recording {
  std::vector<Call> calls;

  /// The calls of one kind, in order.
  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const Call& call : calls) {
      if (const T* one = std::get_if<T>(&call)) found.push_back(*one);
    }
    return found;
  }
};

}  // namespace berth::test
