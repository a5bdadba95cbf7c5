// SPDX-License-Identifier: Apache-2.0
#include "client/read_state.hpp"

#include <algorithm>

#include "client/core.hpp"

namespace berth::client {

ReadState::~ReadState() {
  if (!submitted) return;
  for (const memory::Slice& part : parts) {
    if (part.page.valid()) core->manager().readbacks().release(part);
  }
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
  if (read.arrived) return;
  try {
    for (const memory::Slice& part : read.parts) {
      if (part.page.valid()) manager_->readbacks().wait(part);
    }
    read.arrived = true;
  } catch (const Error& error) {
    fail(read, std::current_exception(), &error);
  }
}

void Core::call_when_ready(std::shared_ptr<ReadState> read, std::function<void()> callback) {
  waiting_.push_back({std::move(read), std::move(callback)});
  run_callbacks();
}

void Core::run_callbacks() {
  if (waiting_.empty() || in_callbacks_) return;
  in_callbacks_ = true;
  for (std::size_t i = 0; i < waiting_.size();) {
    if (!arrived(*waiting_[i].read)) {
      ++i;
      continue;
    }
    const Waiting ready = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      ready.callback();
    } catch (...) {
      in_callbacks_ = false;
      throw;
    }
  }
  in_callbacks_ = false;
}

void Core::forget_callbacks() noexcept { waiting_.clear(); }

}  // namespace berth::client
