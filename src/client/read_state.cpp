// SPDX-License-Identifier: Apache-2.0
#include "client/read_state.hpp"

#include <algorithm>

#include "client/core.hpp"

namespace berth::client {

ReadState::~ReadState() {
  if (submitted) core->release(*this);
}

bool ready(ReadState& state) {
  const bool arrived = state.core->arrived(state);
  state.core->run_callbacks();
  return arrived;
}

void wait(ReadState& state) {
  state.core->wait(state);
  state.core->run_callbacks();
}

void on_ready(const std::shared_ptr<ReadState>& state, std::function<void()> callback) {
  state->core->call_when_ready(state, std::move(callback));
}

std::span<const std::byte> bytes_of(ReadState& state, std::size_t index) {
  if (state.failure) std::rethrow_exception(state.failure);
  if (index >= state.parts.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        "A result was asked for a part that it does not have; parts() tells how many it has.");
  }
  const memory::Slice& part = state.parts[index];
  if (!part.page.valid()) return {};
  const Core::Lock held = state.core->lock();
  return state.core->manager().readbacks().data(part);
}

std::size_t parts_of(const ReadState& state) { return state.parts.size(); }

const Error* error_of(const ReadState& state) noexcept { return state.error; }

namespace {

void fail(ReadState& read, std::exception_ptr failure, const Error* error) {
  read.failure = std::move(failure);
  read.error = error;
  read.arrived = true;
}

}  // namespace

bool Core::arrived(ReadState& read) {
  const Lock held = lock();
  return arrived_locked(read);
}

bool Core::arrived_locked(ReadState& read) {
  if (read.arrived) return true;
  try {
    read.arrived = std::ranges::all_of(read.parts, [this](const memory::Slice& part) {
      return !part.page.valid() || manager_->readbacks().ready(part);
    });
  } catch (const Error& error) {
    fail(read, std::current_exception(), &error);
  }
  return read.arrived;
}

void Core::wait(ReadState& read) {
  Lock held = lock();
  if (arrived_locked(read)) return;
  std::vector<memory::PageHandle> pages;
  for (const memory::Slice& part : read.parts) {
    if (part.page.valid()) pages.push_back(manager_->handle_of(part.page));
  }
  held.unlock();
  try {
    for (const memory::PageHandle page : pages) backend_->wait_mapped(page);
  } catch (const Error& error) {
    fail(read, std::current_exception(), &error);
    return;
  }
  held.lock();
  if (!arrived_locked(read)) {
    throw Error(ErrorCode::internal, "A result is not there although its pages are.");
  }
}

void Core::release(ReadState& read) noexcept {
  const Lock held = lock();
  for (const memory::Slice& part : read.parts) {
    if (part.page.valid()) manager_->readbacks().release(part);
  }
}

void Core::call_when_ready(std::shared_ptr<ReadState> read, std::function<void()> callback) {
  {
    const Lock held = lock();
    waiting_.push_back({std::move(read), std::move(callback)});
  }
  run_callbacks();
}

void Core::run_callbacks() {
  while (true) {
    std::optional<Waiting> ready;  // dropped without the lock: its result may take it
    {
      const Lock held = lock();
      for (std::size_t i = 0; i < waiting_.size() && !ready; ++i) {
        if (!arrived_locked(*waiting_[i].read)) continue;
        ready = std::move(waiting_[i]);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (!ready) return;
    ready->callback();
  }
}

void Core::forget_callbacks() noexcept {
  std::vector<Waiting> forgotten;
  {
    const Lock held = lock();
    forgotten.swap(waiting_);
  }
  forgotten.clear();  // without the lock: their results take it
}

}  // namespace berth::client
