// SPDX-License-Identifier: Apache-2.0
#include "client/core.hpp"

#include <algorithm>
#include <atomic>

#include "base/text.hpp"
#include "berth/error.hpp"
#include "client/stream_state.hpp"

namespace berth::client {

namespace {

memory::ManagerOptions manager_options(const ConnectOptions& options,
                                       const runtime::Capabilities& device) {
  memory::ManagerOptions out;
  out.mapped_to =
      options.policy == Policy::exclusive ? memory::PoolKind::exclusive : memory::PoolKind::sliced;
  out.growth = device.growth == plan::Growth::add ? memory::Growth::add : memory::Growth::replace;
  out.pages.granularity = device.page_granularity;
  out.pages.tensor_use = memory::PageUse::storage | memory::PageUse::indirect;
  out.sliced.alignment = device.limits.offset_alignment;
  out.sliced.most_page = std::min(out.sliced.most_page, device.limits.max_page_bytes);
  for (Bytes* most : {&out.staging.most_page, &out.readback.most_page, &out.uniform.most_page}) {
    *most = std::min(*most, device.limits.max_page_bytes);
  }
  out.staging.budget = options.staging_budget;
  out.uniform.alignment = device.limits.uniform_alignment;
  return out;
}

std::uint64_t next_client() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

}  // namespace

bool BackendPages::mapped(memory::PageHandle page) {
  (void)backend_.poll();
  return backend_.host_state(page) == runtime::HostState::mapped;
}

Core::Core(const ConnectOptions& options, std::unique_ptr<runtime::Backend> backend)
    : options_(options),
      id_(next_client()),
      backend_(std::move(backend)),
      storage_(*backend_, options.budget),
      host_pages_(*backend_),
      manager_(std::make_unique<memory::Manager>(
          storage_, host_pages_, manager_options(options, backend_->capabilities()))),
      drops_(std::make_shared<memory::DropQueue>()) {
  options_.runtime = backend_->capabilities().runtime;
}

Core::~Core() {
  for (const auto& stream : streams_) stream->abandon();
  try {
    if (!in_flight_.empty()) backend_->wait(in_flight_.back());
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lost device has nothing left to wait for
  }
  drain_drops();
  const auto destroy = [](memory::DropNode* node) {
    while (node != nullptr) {
      memory::DropNode* next = node->next;
      delete static_cast<TensorState*>(node);  // NOLINT(cppcoreguidelines-owning-memory)
      node = next;
    }
  };
  destroy(drops_->close());
  for (TensorState* tensor : waiting_drops_) delete tensor;  // NOLINT: their last owner
}

void Core::check_device() const {
  if (const auto why = backend_->lost()) {
    throw DeviceLost(text("The device is lost: ", *why, " Connect again."));
  }
}

Handle Core::make_tensor(Bytes bytes, TensorOptions options, std::source_location where) const {
  static std::atomic<std::uint64_t> next{1};
  if (bytes % 4 != 0 || options.capacity % 4 != 0) {
    throw Error(ErrorCode::invalid_argument,
                text("A tensor of ", bytes, " bytes (capacity ", options.capacity,
                     ") was asked for; both must be multiples of 4."));
  }
  return Handle(new TensorState(next.fetch_add(1, std::memory_order_relaxed), id_, bytes,
                                std::move(options), where));
}

void Core::adopt(TensorState& tensor) {
  if (tensor.server == nullptr) tensor.server = drops_;
}

void Core::drain_drops() {
  for (memory::DropNode* node = drops_->take_all(); node != nullptr;) {
    memory::DropNode* next = node->next;
    waiting_drops_.push_back(static_cast<TensorState*>(node));
    node = next;
  }
  std::erase_if(waiting_drops_, [this](TensorState* tensor) {
    if (tensor->registered.load(std::memory_order_relaxed) != 0) return false;
    free_tensor(*tensor);
    return true;
  });
}

void Core::free_tensor(TensorState& tensor) {
  const memory::TensorSlot slot(tensor.slot);
  if (slot.valid()) {
    by_slot_[slot.index()] = nullptr;
    manager_->drop(slot);
  }
  delete &tensor;  // NOLINT(cppcoreguidelines-owning-memory): no handle and no window holds it
}

void Core::compile(const Kernel& kernel) {
  if (compiled_.contains(kernel.id())) return;
  backend_->compile(kernel, Variant::plain, 0);
  const Target target = backend_->capabilities().target;
  for (std::uint32_t p = 0; p < kernel.signature().in_place.size(); ++p) {
    if (kernel.code(target, Variant::in_place, 1U << p) != nullptr) {
      backend_->compile(kernel, Variant::in_place, 1U << p);
    }
  }
  if (kernel.code(target, Variant::promoted) != nullptr) {
    try {
      backend_->compile(kernel, Variant::promoted, 0);
    } catch (const Error& error) {
      // Uniformity analysis may refuse it: then no task of this kernel is ever promoted.
      if (error.code() != ErrorCode::kernel) throw;
    }
  }
  compiled_.insert(kernel.id());
}

void Core::wait_idle(Lock& lock) {
  if (in_flight_.empty()) return;
  const runtime::Ticket last = in_flight_.back();
  lock.unlock();
  backend_->wait(last);
  lock.lock();
  std::erase_if(in_flight_, [last](runtime::Ticket ticket) { return ticket <= last; });
  manager_->pump();
}

void Core::wait_for_turn(Lock& lock) {
  const std::size_t most = std::max<std::size_t>(options_.max_in_flight, 1);
  const runtime::Ticket done = backend_->poll();
  std::erase_if(in_flight_, [done](runtime::Ticket ticket) { return ticket <= done; });
  while (in_flight_.size() >= most) {
    const runtime::Ticket oldest = in_flight_[in_flight_.size() - most];
    lock.unlock();
    backend_->wait(oldest);
    lock.lock();
    std::erase_if(in_flight_, [oldest](runtime::Ticket ticket) { return ticket <= oldest; });
  }
}

memory::Slice Core::stage(std::span<const std::byte> data) {
  const memory::Staged staged = manager_->uploads().write(data);
  switch (staged.status) {
    case memory::Staged::Status::ready:
      return staged.slice;
    case memory::Staged::Status::must_wait:
      return {};
    case memory::Staged::Status::failed:
      break;
  }
  throw OutOfMemory(
      text("Upload staging of ", data.size(), " bytes cannot be made: ", staged.failure->message),
      data.size(), staged.failure->limit, {});
}

void Core::wait_for_staging(Lock& lock) {
  if (in_flight_.empty()) {
    static_cast<void>(manager_->uploads().wait_for_room());
    return;
  }
  const runtime::Ticket oldest = in_flight_.front();
  lock.unlock();
  backend_->wait(oldest);
  lock.lock();
  std::erase_if(in_flight_, [oldest](runtime::Ticket ticket) { return ticket <= oldest; });
  manager_->pump();
}

void Core::submit_all() {
  for (const auto& stream : streams_) stream->submit(nullptr);
}

Bytes Core::trim(Bytes keep) {
  Lock held = lock();
  drain_drops();
  wait_idle(held);
  manager_->pump();
  return manager_->trim(keep);
}

}  // namespace berth::client
