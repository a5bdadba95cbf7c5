// SPDX-License-Identifier: Apache-2.0
#include "runtime/wgpu/wgpu_groups.hpp"

#include <algorithm>

namespace berth::runtime::wgpu {

namespace {

// A key is {layout, then page, offset, bytes of each binding}; layout 0 is that of uniforms.
constexpr std::uint64_t kUniformLayout = 0;
constexpr std::size_t kWordsPerBinding = 3;

template <class Visit>
void for_each_page(const std::vector<std::uint64_t>& key, Visit visit) {
  for (std::size_t i = 1; i < key.size(); i += kWordsPerBinding) visit(key[i]);
}

}  // namespace

std::size_t BindGroups::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const std::uint64_t word : key) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29U;
  }
  return static_cast<std::size_t>(hash);
}

BindGroups::Found BindGroups::storage(const GroupLayout& layout,
                                      const std::vector<BoundRange>& ranges) {
  const std::lock_guard lock(mutex_);
  key_.assign(1, layout.id);
  std::vector<WGPUBindGroupEntry> entries;
  entries.reserve(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const BoundRange& bound = ranges[i];
    key_.insert(key_.end(), {bound.page.value, bound.range.offset, bound.range.bytes});
    WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
    entry.binding = layout.bindings[i].number;
    entry.buffer = bound.buffer;
    entry.offset = bound.range.offset;
    entry.size = bound.range.bytes;
    entries.push_back(entry);
  }
  return find_or_make(layout.group, entries);
}

BindGroups::Found BindGroups::uniform(WGPUBindGroupLayout layout, memory::PageHandle page,
                                      WGPUBuffer buffer, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  key_.assign({kUniformLayout, page.value, 0, bytes});
  if (const auto found = groups_.find(key_); found != groups_.end()) return {found->second, false};
  WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
  entry.buffer = buffer;
  entry.size = bytes;
  return find_or_make(layout, {entry});
}

BindGroups::Found BindGroups::find_or_make(WGPUBindGroupLayout layout,
                                           const std::vector<WGPUBindGroupEntry>& entries) {
  if (const auto found = groups_.find(key_); found != groups_.end()) return {found->second, false};
  if (groups_.size() >= drop_at_) drop_unused();

  WGPUBindGroupDescriptor descriptor{};
  descriptor.layout = layout;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  auto group = std::make_shared<const BindGroup>(
      device_, device_->api().DeviceCreateBindGroup(device_->device(), &descriptor));
  const auto place = groups_.emplace(key_, std::move(group)).first;
  for_each_page(place->first,
                [&](std::uint64_t page) { keys_of_page_[page].insert(&place->first); });
  return {place->second, true};
}

void BindGroups::erase(const Key& key) {
  for_each_page(key, [&](std::uint64_t page) {
    const auto keys = keys_of_page_.find(page);
    if (keys == keys_of_page_.end()) return;  // the same page twice in one group
    keys->second.erase(&key);
    if (keys->second.empty()) keys_of_page_.erase(keys);
  });
  groups_.erase(groups_.find(key));
}

void BindGroups::evict(memory::PageHandle page) {
  const std::lock_guard lock(mutex_);
  const auto keys = keys_of_page_.find(page.value);
  if (keys == keys_of_page_.end()) return;
  const std::vector<const Key*> doomed(keys->second.begin(), keys->second.end());
  for (const Key* key : doomed) erase(*key);
}

void BindGroups::forget(const std::vector<std::shared_ptr<const BindGroup>>& groups) {
  const std::lock_guard lock(mutex_);
  std::vector<const Key*> doomed;
  for (const auto& [key, group] : groups_) {
    if (std::ranges::find(groups, group) != groups.end()) doomed.push_back(&key);
  }
  for (const Key* key : doomed) erase(*key);
}

void BindGroups::drop_unused() {
  std::vector<const Key*> doomed;
  for (const auto& [key, group] : groups_) {
    if (group.use_count() == 1) doomed.push_back(&key);
  }
  for (const Key* key : doomed) erase(*key);
  // In use by prepared programs: not to be counted again at every new group.
  drop_at_ = std::max<std::size_t>(4096, 2 * groups_.size());
}

}  // namespace berth::runtime::wgpu
