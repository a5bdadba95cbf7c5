// SPDX-License-Identifier: Apache-2.0
//
// The order of the launches, and when each tensor is let go: a window is planned from the handles
// still held, so every intermediate is moved into its last launch.
// Thread safety: see model.hpp.
#include "minilm/model.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

namespace minilm {
namespace {

constexpr std::size_t kLayers = 6;
// Windows recorded ahead of the one waited for: the device works while the next batch is recorded.
constexpr std::size_t kBatchesUnderWay = 2;

struct Linear {
  berth::Handle w;  // [columns, depth], as in the file
  berth::Handle b;
  std::uint32_t columns = 0;
  std::uint32_t depth = 0;
};
struct Norm {
  berth::Handle gain;
  berth::Handle shift;
};
struct Layer {
  Linear query;
  Linear key;
  Linear value;
  Linear attention_output;
  Norm attention_norm;
  Linear intermediate;
  Linear output;
  Norm output_norm;
};

berth::Bytes float_bytes(std::uint64_t count) { return count * sizeof(float); }

// Uploads tensors of the file under their names there.
class Uploader {
 public:
  Uploader(berth::Client& client, const SafeTensors& file) : client_(client), file_(file) {}

  berth::Handle tensor(const std::string& name, std::initializer_list<std::uint64_t> shape) {
    return client_.create(file_.f32(name, {shape.begin(), shape.size()}), {.label = name});
  }
  Linear linear(const std::string& name, std::uint32_t columns, std::uint32_t depth) {
    return {tensor(name + ".weight", {columns, depth}), tensor(name + ".bias", {columns}), columns,
            depth};
  }
  Norm norm(const std::string& name) {
    return {tensor(name + ".weight", {kHidden}), tensor(name + ".bias", {kHidden})};
  }
  Layer layer(std::size_t index) {
    const std::string name = "encoder.layer." + std::to_string(index) + ".";
    return {linear(name + "attention.self.query", kHidden, kHidden),
            linear(name + "attention.self.key", kHidden, kHidden),
            linear(name + "attention.self.value", kHidden, kHidden),
            linear(name + "attention.output.dense", kHidden, kHidden),
            norm(name + "attention.output.LayerNorm"),
            linear(name + "intermediate.dense", kInner, kHidden),
            linear(name + "output.dense", kHidden, kInner),
            norm(name + "output.LayerNorm")};
  }

 private:
  berth::Client& client_;
  const SafeTensors& file_;
};

}  // namespace

struct Embedder::Weights {
  std::uint32_t vocab_size = 0;
  berth::Handle word;
  berth::Handle position;
  berth::Handle token_type;
  Norm embedding_norm;
  std::array<Layer, kLayers> layers;
};

struct Embedder::Kernels {
  berth::Kernel embedding = make_embedding();
  berth::Kernel layer_norm = make_layer_norm();
  berth::Kernel attention = make_attention();
  berth::Kernel mean_pool = make_mean_pool();
  std::array<std::array<berth::Kernel, 2>, 2> matmul = {
      std::array{make_matmul(MatmulTile::tall, Activation::none),
                 make_matmul(MatmulTile::tall, Activation::gelu)},
      std::array{make_matmul(MatmulTile::flat, Activation::none),
                 make_matmul(MatmulTile::flat, Activation::gelu)}};
};

namespace {

// Launches on one batch. Tensors are taken by value: move the last use of one in.
class Recorder {
 public:
  Recorder(berth::Client& client, BatchShape shape, std::uint32_t sentences)
      : client_(client), shape_(shape), sentences_(sentences), rows_(shape.longest * sentences) {}

  berth::Handle rows(std::uint32_t columns, const char* label) {
    return client_.empty(float_bytes(std::uint64_t{rows_} * columns), {.label = label});
  }
  template <class Kernels>
  berth::Handle linear(const Kernels& kernels, const Linear& linear, berth::Handle x,
                       const char* label, Activation activation = Activation::none) {
    const MatmulTile tile = matmul_tile(rows_);
    berth::Handle y = rows(linear.columns, label);
    client_.launch(kernels[static_cast<std::size_t>(tile)][static_cast<std::size_t>(activation)],
                   matmul_grid(tile, rows_, linear.columns), {std::move(x), linear.w, linear.b, y},
                   MatmulShape{.rows = rows_, .columns = linear.columns, .depth = linear.depth});
    return y;
  }
  berth::Handle norm(const berth::Kernel& kernel, const Norm& norm, berth::Handle x,
                     berth::Handle residual, const char* label) {
    berth::Handle y = rows(kHidden, label);
    client_.launch(kernel, {.x = rows_},
                   {std::move(x), std::move(residual), norm.gain, norm.shift, y});
    return y;
  }
  berth::Handle attend(const berth::Kernel& kernel, berth::Handle q, berth::Handle k,
                       berth::Handle v, const berth::Handle& lengths) {
    berth::Handle y = rows(kHidden, "context");
    client_.launch(kernel, attention_grid(sentences_, shape_.longest),
                   {std::move(q), std::move(k), std::move(v), lengths, y}, shape_);
    return y;
  }
  template <class Kernels>
  berth::Handle layer(const Kernels& kernels, const Layer& w, berth::Handle x,
                      const berth::Handle& lengths) {
    berth::Handle q = linear(kernels.matmul, w.query, x, "query");
    berth::Handle k = linear(kernels.matmul, w.key, x, "key");
    berth::Handle v = linear(kernels.matmul, w.value, x, "value");
    berth::Handle context =
        attend(kernels.attention, std::move(q), std::move(k), std::move(v), lengths);
    berth::Handle attended =
        linear(kernels.matmul, w.attention_output, std::move(context), "attention_output");
    berth::Handle hidden = norm(kernels.layer_norm, w.attention_norm, std::move(attended),
                                std::move(x), "attention_norm");
    berth::Handle inner =
        linear(kernels.matmul, w.intermediate, hidden, "intermediate", Activation::gelu);
    berth::Handle outer = linear(kernels.matmul, w.output, std::move(inner), "output");
    return norm(kernels.layer_norm, w.output_norm, std::move(outer), std::move(hidden),
                "output_norm");
  }

 private:
  berth::Client& client_;
  BatchShape shape_;
  std::uint32_t sentences_;
  std::uint32_t rows_;
};

}  // namespace

Embedder::Embedder(berth::Client client, const SafeTensors& weights)
    : client_(std::move(client)),
      weights_(std::make_unique<Weights>()),
      kernels_(std::make_unique<Kernels>()) {
  constexpr const char* kWord = "embeddings.word_embeddings.weight";
  Uploader upload(client_, weights);
  const std::vector<std::uint64_t>& shape = weights.info(kWord).shape;
  const std::uint64_t vocab_size = shape.empty() ? 0 : shape[0];
  weights_->vocab_size = static_cast<std::uint32_t>(vocab_size);
  weights_->word = upload.tensor(kWord, {vocab_size, kHidden});
  weights_->position =
      upload.tensor("embeddings.position_embeddings.weight", {kMaxTokens, kHidden});
  // Every token is of type 0, the first row.
  weights_->token_type = upload.tensor("embeddings.token_type_embeddings.weight", {2, kHidden});
  weights_->embedding_norm = upload.norm("embeddings.LayerNorm");
  for (std::size_t i = 0; i < kLayers; ++i) weights_->layers[i] = upload.layer(i);
  const std::array all = {kernels_->embedding,    kernels_->layer_norm,   kernels_->attention,
                          kernels_->mean_pool,    kernels_->matmul[0][0], kernels_->matmul[0][1],
                          kernels_->matmul[1][0], kernels_->matmul[1][1]};
  client_.prepare(all);
  client_.sync();
  client_.trim();  // what staged the weights is ten times what a batch needs
}

Embedder::~Embedder() = default;
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;

std::uint32_t Embedder::vocab_size() const { return weights_->vocab_size; }

void Embedder::check(std::span<const std::vector<std::uint32_t>> sentences,
                     const EmbedOptions& options) const {
  if (options.token_budget == 0 || options.token_budget > kMaxTokenBudget) {
    throw std::invalid_argument("A token budget of " + std::to_string(options.token_budget) +
                                " is not between 1 and " + std::to_string(kMaxTokenBudget) + ".");
  }
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::vector<std::uint32_t>& ids = sentences[i];
    if (ids.empty() || ids.size() > kMaxTokens) {
      throw std::invalid_argument("Sentence " + std::to_string(i) + " has " +
                                  std::to_string(ids.size()) + " tokens; the model takes 1 to " +
                                  std::to_string(kMaxTokens) + ".");
    }
    const std::uint32_t largest = *std::ranges::max_element(ids);
    if (largest >= vocab_size()) {
      throw std::invalid_argument("Sentence " + std::to_string(i) + " holds the id " +
                                  std::to_string(largest) + "; the vocabulary has " +
                                  std::to_string(vocab_size()) + " tokens.");
    }
  }
}

berth::Handle Embedder::record(const Batch& batch,
                               std::span<const std::vector<std::uint32_t>> sentences) {
  const auto count = static_cast<std::uint32_t>(batch.sentences.size());
  std::vector<std::uint32_t> padded(std::size_t{count} * batch.longest, 0);  // 0 is [PAD]
  std::vector<std::uint32_t> host_lengths(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::vector<std::uint32_t>& ids = sentences[batch.sentences[i]];
    host_lengths[i] = static_cast<std::uint32_t>(ids.size());
    std::ranges::copy(ids,
                      padded.begin() + static_cast<std::ptrdiff_t>(std::size_t{i} * batch.longest));
  }
  const BatchShape shape{.longest = batch.longest};
  Recorder record(client_, shape, count);
  berth::Handle ids = client_.create(std::span<const std::uint32_t>(padded), {.label = "ids"});
  berth::Handle lengths =
      client_.create(std::span<const std::uint32_t>(host_lengths), {.label = "lengths"});

  berth::Handle x = record.rows(kHidden, "embedding");
  client_.launch(kernels_->embedding, {.x = count * batch.longest},
                 {std::move(ids), weights_->word, weights_->position, weights_->token_type,
                  weights_->embedding_norm.gain, weights_->embedding_norm.shift, x},
                 shape);
  for (const Layer& layer : weights_->layers) {
    x = record.layer(*kernels_, layer, std::move(x), lengths);
  }
  berth::Handle pooled =
      client_.empty(float_bytes(std::uint64_t{count} * kHidden), {.label = "pooled"});
  client_.launch(kernels_->mean_pool, {.x = count}, {std::move(x), std::move(lengths), pooled},
                 shape);
  return pooled;
}

std::vector<Embedding> Embedder::embed(std::span<const std::vector<std::uint32_t>> sentences,
                                       const EmbedOptions& options) {
  check(sentences, options);
  std::vector<std::uint32_t> lengths(sentences.size());
  std::ranges::transform(sentences, lengths.begin(),
                         [](const auto& ids) { return static_cast<std::uint32_t>(ids.size()); });

  std::vector<Embedding> embeddings(sentences.size());
  std::size_t done = 0;
  std::deque<std::pair<Batch, berth::Readback<float>>> under_way;
  const auto finish_first = [&] {
    const auto [batch, readback] = std::move(under_way.front());
    under_way.pop_front();
    const std::vector<float> values = readback.get();
    for (std::size_t i = 0; i < batch.sentences.size(); ++i) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * kHidden), kHidden,
                  embeddings[batch.sentences[i]].begin());
    }
    done += batch.sentences.size();
    if (options.on_progress) options.on_progress(done);
  };
  for (Batch& batch : plan_batches(lengths, options.token_budget)) {
    const berth::Handle pooled = record(batch, sentences);
    under_way.emplace_back(std::move(batch), client_.read<float>(pooled));
    if (under_way.size() > kBatchesUnderWay) finish_first();
  }
  while (!under_way.empty()) finish_first();
  return embeddings;
}

}  // namespace minilm
