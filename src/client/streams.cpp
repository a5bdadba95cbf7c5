// SPDX-License-Identifier: Apache-2.0
//
// Who uses which stream. Streams live as long as their core and are handed from owner to owner: a
// window that its owner left with tasks is closed by whoever needs its tensors, or by the next
// owner.
#include <utility>

#include "client/core.hpp"
#include "client/stream_state.hpp"

namespace berth::client {

namespace {

/// The default streams of one thread; they go back when the thread ends.
class ThreadStreams {
 public:
  ThreadStreams() = default;
  ThreadStreams(const ThreadStreams&) = delete;
  ThreadStreams& operator=(const ThreadStreams&) = delete;
  ~ThreadStreams() {
    for (const Entry& entry : entries_) {
      if (const auto core = entry.core.lock()) core->give_stream(*entry.stream);
    }
  }

  [[nodiscard]] StreamState* find(std::uint64_t client) const {
    for (const Entry& entry : entries_) {
      if (entry.client == client) return entry.stream;
    }
    return nullptr;
  }
  void add(const std::shared_ptr<Core>& core, StreamState& stream) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.core.expired(); });
    entries_.push_back({core->id(), core, &stream});
  }

 private:
  struct Entry {
    std::uint64_t client;
    std::weak_ptr<Core> core;
    StreamState* stream;
  };
  std::vector<Entry> entries_;
};

}  // namespace

StreamState& Core::default_stream() {
  thread_local ThreadStreams streams;
  if (StreamState* stream = streams.find(id_)) return *stream;
  StreamState& stream = take_stream();
  streams.add(shared_from_this(), stream);
  return stream;
}

StreamState& Core::take_stream() {
  const Lock held = lock();
  if (!idle_streams_.empty()) {
    StreamState* stream = idle_streams_.back();
    idle_streams_.pop_back();
    return *stream;
  }
  streams_.push_back(std::make_unique<StreamState>(*this));
  return *streams_.back();
}

void Core::give_stream(StreamState& stream) noexcept {
  const Lock held = lock();
  idle_streams_.push_back(&stream);
}

}  // namespace berth::client
