// SPDX-License-Identifier: Apache-2.0
//
// A window: the tasks of a stream since its last submission, as recorded. Flat arrays that are
// reused, so that recording allocates nothing once they have grown. It holds its tensors by their
// `registered` count and knows nothing of places. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/access.hpp"
#include "berth/kernel.hpp"
#include "berth/plan/problem.hpp"
#include "berth/uniforms.hpp"
#include "berth/units.hpp"
#include "client/tensor_state.hpp"
#include "memory/page.hpp"

namespace berth::client {

/// One use of a tensor, resolved: the range is never open-ended.
struct RecordedUse {
  std::uint32_t tensor = 0;  ///< index into Window::tensors()
  Access access = Access::read;
  bool handed_over = false;
  Range range;
};

struct RecordedTask {
  plan::TaskKind kind = plan::TaskKind::dispatch;
  std::uint32_t kernel = 0;  ///< index into Window::kernels(), for dispatches
  Grid grid;
  std::uint32_t first_use = 0;
  std::uint32_t use_count = 0;
  std::uint32_t first_word = 0;  ///< of its uniform values
  std::uint32_t word_count = 0;
  std::uint32_t slot = 0;   ///< index of its upload or readback
  std::uint32_t label = 0;  ///< index into Window::labels()
  bool indirect = false;    ///< a dispatch whose last use holds the workgroup counts
  double estimated_ns = 0;
};

class Window {
 public:
  /// Windows are numbered from 1 in the order they are begun, over all streams of a client.
  explicit Window(std::uint64_t serial) : serial_(serial) {}
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() = default;

  /// One use still to be recorded.
  struct NewUse {
    TensorState* tensor = nullptr;
    Access access = Access::read;
    bool handed_over = false;
    Range range;
  };

  /// `uses` are in the signature's order; one more holds the workgroup counts instead of `grid`.
  void add_dispatch(const Kernel& kernel, Grid grid, std::span<const NewUse> uses,
                    std::span<const std::uint32_t> words, const std::string& label,
                    double estimated_ns);
  /// A copy (source, target), fill (target), upload (target) or readback (source).
  void add_transfer(plan::TaskKind kind, std::span<const NewUse> uses, std::uint32_t slot,
                    const std::string& label);
  [[nodiscard]] std::uint32_t add_upload_source(memory::Slice source);

  /// Takes back what was recorded after a mark.
  struct Mark {
    std::size_t tasks, uses, words, tensors, uploads, readbacks;
  };
  [[nodiscard]] Mark mark() const;
  void rewind(const Mark& mark);

  /// Forgets all tasks and starts the window `serial`. The tensors are released one by one.
  void clear(std::uint64_t serial);

  [[nodiscard]] bool empty() const { return tasks_.empty(); }
  [[nodiscard]] std::uint64_t serial() const { return serial_; }
  [[nodiscard]] std::span<const RecordedTask> tasks() const { return tasks_; }
  [[nodiscard]] std::span<const RecordedUse> uses() const { return uses_; }
  [[nodiscard]] std::span<const RecordedUse> uses_of(const RecordedTask& task) const {
    return std::span(uses_).subspan(task.first_use, task.use_count);
  }
  [[nodiscard]] std::span<const std::uint32_t> words_of(const RecordedTask& task) const {
    return std::span(words_).subspan(task.first_word, task.word_count);
  }
  [[nodiscard]] std::span<TensorState* const> tensors() const { return tensors_; }
  [[nodiscard]] std::span<const Kernel> kernels() const { return kernels_; }
  [[nodiscard]] std::span<const std::string> labels() const { return labels_; }
  [[nodiscard]] std::span<const memory::Slice> uploads() const { return uploads_; }
  [[nodiscard]] std::uint32_t readbacks() const { return readbacks_; }

 private:
  void add_uses(RecordedTask& task, std::span<const NewUse> uses);
  [[nodiscard]] std::uint32_t index_of(TensorState& tensor);
  [[nodiscard]] std::uint32_t index_of(const Kernel& kernel);
  [[nodiscard]] std::uint32_t index_of(const std::string& label);

  std::uint64_t serial_;
  std::vector<RecordedTask> tasks_;
  std::vector<RecordedUse> uses_;
  std::vector<std::uint32_t> words_;
  std::vector<TensorState*> tensors_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> labels_;
  std::vector<memory::Slice> uploads_;
  std::uint32_t readbacks_ = 0;
};

}  // namespace berth::client
