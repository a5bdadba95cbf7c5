// SPDX-License-Identifier: Apache-2.0
//
// all-MiniLM-L6-v2 as a sequence of berth launches: token ids in, unit vectors of 384 values out.
// Weights are uploaded once; each batch is one window. It reads no text and no file.
// Thread safety: one thread at a time, as the client it uses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "berth/client.hpp"
#include "minilm/batching.hpp"
#include "minilm/kernels.hpp"
#include "minilm/safetensors.hpp"

namespace minilm {

/// What stands for a sentence; its L2 norm is 1.
using Embedding = std::array<float, kHidden>;

struct EmbedOptions {
  /// Padded tokens of one batch: bounds the memory of a window, about 9 KiB a token.
  std::uint32_t token_budget = 2048;
  /// Called after each batch with the number of sentences that are done.
  std::function<void(std::size_t)> on_progress{};
};

/// The model with its weights on one device.
class Embedder {
 public:
  static constexpr std::uint32_t kMaxTokens = 512;  ///< rows of the position table
  static constexpr std::uint32_t kMaxTokenBudget = 32'768;

  /// Uploads the weights, 90 MB, compiles the kernels and waits for both; `weights` may be closed
  /// afterwards. Errors: InputError when a tensor is missing or of another shape; what launches and
  /// flushes
  ///   throw.
  Embedder(berth::Client client, const SafeTensors& weights);
  ~Embedder();
  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;

  /// The embeddings of sentences given as token ids, in their order. Sentences of like length go
  /// through together (plan_batches); a result does not depend on its neighbours beyond rounding.
  /// Errors: std::invalid_argument for a sentence without tokens or with more than kMaxTokens, an
  /// id
  ///   outside the vocabulary, or a token budget of 0 or above kMaxTokenBudget; berth::Error.
  [[nodiscard]] std::vector<Embedding> embed(std::span<const std::vector<std::uint32_t>> sentences,
                                             const EmbedOptions& options = {});

  [[nodiscard]] std::uint32_t vocab_size() const;

 private:
  struct Weights;
  struct Kernels;

  void check(std::span<const std::vector<std::uint32_t>> sentences,
             const EmbedOptions& options) const;
  // Records one batch; the result has a row of kHidden values for each sentence of it.
  berth::Handle record(const Batch& batch, std::span<const std::vector<std::uint32_t>> sentences);

  berth::Client client_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Kernels> kernels_;
};

}  // namespace minilm
