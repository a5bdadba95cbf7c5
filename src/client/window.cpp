// SPDX-License-Identifier: Apache-2.0
#include "client/window.hpp"

#include <algorithm>

namespace berth::client {

void Window::add_dispatch(const Kernel& kernel, Grid grid, std::span<const NewUse> uses,
                          std::span<const std::uint32_t> words, const std::string& label,
                          double estimated_ns) {
  RecordedTask task;
  task.kind = plan::TaskKind::dispatch;
  task.kernel = index_of(kernel);
  task.grid = grid;
  task.first_word = static_cast<std::uint32_t>(words_.size());
  task.word_count = static_cast<std::uint32_t>(words.size());
  task.label = index_of(label.empty() ? kernel.name() : label);
  task.estimated_ns = estimated_ns;
  task.indirect = uses.size() > kernel.signature().bindings.size();
  words_.insert(words_.end(), words.begin(), words.end());
  add_uses(task, uses);
}

void Window::add_transfer(plan::TaskKind kind, std::span<const NewUse> uses, std::uint32_t slot,
                          const std::string& label) {
  RecordedTask task;
  task.kind = kind;
  task.slot = slot;
  task.label = index_of(label);
  if (kind == plan::TaskKind::readback) task.slot = readbacks_++;
  add_uses(task, uses);
}

std::uint32_t Window::add_upload_source(memory::Slice source) {
  uploads_.push_back(source);
  return static_cast<std::uint32_t>(uploads_.size() - 1);
}

void Window::add_uses(RecordedTask& task, std::span<const NewUse> uses) {
  task.first_use = static_cast<std::uint32_t>(uses_.size());
  task.use_count = static_cast<std::uint32_t>(uses.size());
  for (const NewUse& use : uses) {
    uses_.push_back({index_of(*use.tensor), use.access, use.handed_over, use.range});
    use.tensor->registered.fetch_add(1, std::memory_order_relaxed);
  }
  tasks_.push_back(task);
}

Window::Mark Window::mark() const {
  return {tasks_.size(), uses_.size(), words_.size(), tensors_.size(), uploads_.size(), readbacks_};
}

void Window::rewind(const Mark& mark) {
  for (std::size_t i = mark.uses; i < uses_.size(); ++i) {
    tensors_[uses_[i].tensor]->registered.fetch_sub(1, std::memory_order_relaxed);
  }
  for (std::size_t i = mark.tensors; i < tensors_.size(); ++i) {
    tensors_[i]->window = 0;
    tensors_[i]->last_stream = nullptr;
  }
  tensors_.resize(mark.tensors);
  tasks_.resize(mark.tasks);
  uses_.resize(mark.uses);
  words_.resize(mark.words);
  uploads_.resize(mark.uploads);
  readbacks_ = static_cast<std::uint32_t>(mark.readbacks);
}

void Window::clear(std::uint64_t serial) {
  for (const RecordedUse& use : uses_) {
    tensors_[use.tensor]->registered.fetch_sub(1, std::memory_order_relaxed);
  }
  for (TensorState* tensor : tensors_) tensor->last_stream = nullptr;
  tasks_.clear();
  uses_.clear();
  words_.clear();
  tensors_.clear();
  kernels_.clear();
  labels_.clear();
  uploads_.clear();
  readbacks_ = 0;
  serial_ = serial;
}

std::uint32_t Window::index_of(TensorState& tensor) {
  if (tensor.window != serial_) {
    tensor.window = serial_;
    tensor.local = static_cast<std::uint32_t>(tensors_.size());
    tensors_.push_back(&tensor);
  }
  return tensor.local;
}

// A window launches few kernels many times, mostly one of the last ones again: search from the
// back.
std::uint32_t Window::index_of(const Kernel& kernel) {
  for (std::size_t i = kernels_.size(); i > 0; --i) {
    if (kernels_[i - 1].id() == kernel.id()) return static_cast<std::uint32_t>(i - 1);
  }
  kernels_.push_back(kernel);
  return static_cast<std::uint32_t>(kernels_.size() - 1);
}

std::uint32_t Window::index_of(const std::string& label) {
  if (!labels_.empty() && labels_.back() == label) {
    return static_cast<std::uint32_t>(labels_.size() - 1);
  }
  labels_.push_back(label);
  return static_cast<std::uint32_t>(labels_.size() - 1);
}

}  // namespace berth::client
