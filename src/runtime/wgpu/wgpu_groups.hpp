// SPDX-License-Identifier: Apache-2.0
//
// The cache of bind groups. A group is found again by its layout and what it binds, and evicted
// with any page it binds; a prepared program shares in its groups, so an evicted one dies with the
// last of them. Makes groups without error scopes of its own: its callers open one around many.
// Safe from any thread.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "berth/units.hpp"
#include "memory/storage.hpp"
#include "runtime/wgpu/wgpu_device.hpp"
#include "runtime/wgpu/wgpu_kernels.hpp"

namespace berth::runtime::wgpu {

/// Owns one bind group.
class BindGroup {
 public:
  BindGroup(std::shared_ptr<Device> device, WGPUBindGroup group)
      : device_(std::move(device)), group_(group) {}
  BindGroup(const BindGroup&) = delete;
  BindGroup& operator=(const BindGroup&) = delete;
  ~BindGroup() {
    if (group_ != nullptr) device_->api().BindGroupRelease(group_);
  }
  [[nodiscard]] WGPUBindGroup get() const { return group_; }

 private:
  std::shared_ptr<Device> device_;
  WGPUBindGroup group_;
};

/// What a group binds at one place.
struct BoundRange {
  memory::PageHandle page;
  WGPUBuffer buffer = nullptr;
  Range range;
};

class BindGroups {
 public:
  explicit BindGroups(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  struct Found {
    std::shared_ptr<const BindGroup> group;
    bool made = false;
  };
  /// The group of `layout` that binds `ranges`, one per binding of the layout.
  [[nodiscard]] Found storage(const GroupLayout& layout, const std::vector<BoundRange>& ranges);
  /// The group that binds `bytes` of a uniform page at a dynamic offset.
  [[nodiscard]] Found uniform(WGPUBindGroupLayout layout, memory::PageHandle page,
                              WGPUBuffer buffer, Bytes bytes);

  /// Forgets all groups that bind a page.
  void evict(memory::PageHandle page);
  /// Forgets groups by identity: those that failed to be made.
  void forget(const std::vector<std::shared_ptr<const BindGroup>>& groups);

 private:
  using Key = std::vector<std::uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  [[nodiscard]] Found find_or_make(WGPUBindGroupLayout layout,
                                   const std::vector<WGPUBindGroupEntry>& entries);
  void erase(const Key& key);
  void drop_unused();

  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const BindGroup>, KeyHash> groups_;
  std::unordered_map<std::uint64_t, std::unordered_set<const Key*>> keys_of_page_;
  Key key_;  ///< of the look-up under way; kept so that a hit makes no heap block
  std::size_t drop_at_ = 4096;
};

}  // namespace berth::runtime::wgpu
