// SPDX-License-Identifier: Apache-2.0
//
// Each kernel's C++ function against the same thing written naively in float64, on shapes that fill
// no tile. Outputs start as NaN, so that a value nobody wrote is found.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "minilm/kernels.hpp"

namespace minilm {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::uint32_t>;

class Random {
 public:
  Values values(std::size_t count, float scale = 1) {
    std::normal_distribution<float> normal(0, scale);
    Values out(count);
    for (float& value : out) value = normal(engine_);
    return out;
  }
  Numbers numbers(std::size_t count, std::uint32_t least, std::uint32_t most) {
    std::uniform_int_distribution<std::uint32_t> uniform(least, most);
    Numbers out(count);
    for (std::uint32_t& number : out) number = uniform(engine_);
    return out;
  }

 private:
  std::mt19937 engine_{20};
};

Values nobody_wrote(std::size_t count) {
  return Values(count, std::numeric_limits<float>::quiet_NaN());
}

template <class T>
berth::CpuBuffer buffer(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)};
}

// Runs every workgroup, last to first: their order must not matter.
template <class Uniforms>
void run(const berth::Kernel& kernel, berth::Grid grid, std::vector<berth::CpuBuffer> buffers,
         const Uniforms& uniforms) {
  const berth::CpuFunction function = kernel.code(berth::Target::cpu)->function;
  for (std::uint32_t z = grid.z; z-- > 0;) {
    for (std::uint32_t y = grid.y; y-- > 0;) {
      for (std::uint32_t x = grid.x; x-- > 0;) {
        function(
            {buffers, std::as_bytes(std::span(&uniforms, 1)), {x, y, z}, {grid.x, grid.y, grid.z}});
      }
    }
  }
}

double largest_error(const Values& values, const std::vector<double>& expected) {
  double worst = values.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - expected[i]);
    if (!(error <= worst)) worst = error;  // NaN too
  }
  return worst;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

using MatmulCase = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rows, columns, depth
class Matmul : public testing::TestWithParam<MatmulCase> {};

TEST_P(Matmul, EqualsTheNaiveProductInBothTilesWithAndWithoutGelu) {
  const auto [rows, columns, depth] = GetParam();
  Random random;
  Values x = random.values(std::size_t{rows} * depth);
  Values w = random.values(std::size_t{columns} * depth, 0.1F);
  Values b = random.values(columns);
  for (const Activation activation : {Activation::none, Activation::gelu}) {
    std::vector<double> expected(std::size_t{rows} * columns);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = b[c];
        for (std::size_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(x[r * depth + k]) * w[c * depth + k];
        }
        expected[r * columns + c] = activation == Activation::gelu ? gelu(sum) : sum;
      }
    }
    for (const MatmulTile tile : {MatmulTile::tall, MatmulTile::flat}) {
      Values y = nobody_wrote(expected.size());
      run(make_matmul(tile, activation), matmul_grid(tile, rows, columns),
          {buffer(x), buffer(w), buffer(b), buffer(y)}, MatmulShape{rows, columns, depth});
      EXPECT_LT(largest_error(y, expected), 2e-5);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, Matmul,
                         testing::Values(MatmulCase{1, 64, 16}, MatmulCase{3, 192, 48},
                                         MatmulCase{16, 64, 384}, MatmulCase{17, 128, 80},
                                         MatmulCase{63, 64, 112}, MatmulCase{64, 384, 384},
                                         MatmulCase{65, 64, 1536}, MatmulCase{131, 192, 16}));

TEST(Erf, IsExactToFloat32) {
  double worst = 0;
  for (int i = -60'000; i <= 60'000; ++i) {
    const float x = static_cast<float>(i) * 1e-4F;
    worst = std::max(worst, std::abs(erf_rational(x) - std::erf(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 5e-7);
  EXPECT_EQ(erf_rational(0), 0);
  EXPECT_NEAR(erf_rational(1e30F), 1, 5e-7);
  EXPECT_NEAR(erf_rational(-1e30F), -1, 5e-7);
}

std::vector<double> normalised(std::vector<double> rows, const Values& gain, const Values& shift) {
  for (std::size_t first = 0; first < rows.size(); first += kHidden) {
    double mean = 0;
    for (std::size_t i = 0; i < kHidden; ++i) mean += rows[first + i] / kHidden;
    double variance = 0;
    for (std::size_t i = 0; i < kHidden; ++i) {
      variance += (rows[first + i] - mean) * (rows[first + i] - mean) / kHidden;
    }
    for (std::size_t i = 0; i < kHidden; ++i) {
      rows[first + i] = (rows[first + i] - mean) / std::sqrt(variance + 1e-12) * gain[i] + shift[i];
    }
  }
  return rows;
}

TEST(LayerNorm, EqualsTheNaiveOneOfTheSumWithTheResidual) {
  constexpr std::uint32_t kRows = 13;
  Random random;
  Values x = random.values(std::size_t{kRows} * kHidden, 3);
  Values residual = random.values(x.size());
  Values gain = random.values(kHidden);
  Values shift = random.values(kHidden);
  std::vector<double> sums(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sums[i] = static_cast<double>(x[i]) + residual[i];
  Values y = nobody_wrote(x.size());
  run(make_layer_norm(), {.x = kRows},
      {buffer(x), buffer(residual), buffer(gain), buffer(shift), buffer(y)}, 0);
  EXPECT_LT(largest_error(y, normalised(sums, gain, shift)), 5e-6);
}

TEST(Embedding, AddsWordPositionAndTypeAndStartsPositionsAnewForEachSentence) {
  constexpr std::uint32_t kLongest = 7;
  constexpr std::uint32_t kVocabulary = 50;
  Random random;
  Numbers ids = random.numbers(std::size_t{3} * kLongest, 0, kVocabulary - 1);
  Values word = random.values(std::size_t{kVocabulary} * kHidden);
  Values position = random.values(std::size_t{kLongest} * kHidden);
  Values type = random.values(std::size_t{2} * kHidden);
  Values gain = random.values(kHidden);
  Values shift = random.values(kHidden);
  std::vector<double> sums(ids.size() * kHidden);
  for (std::size_t token = 0; token < ids.size(); ++token) {
    for (std::size_t i = 0; i < kHidden; ++i) {
      sums[token * kHidden + i] = static_cast<double>(word[std::size_t{ids[token]} * kHidden + i]) +
                                  position[token % kLongest * kHidden + i] + type[i];
    }
  }
  Values y = nobody_wrote(sums.size());
  run(make_embedding(), {.x = static_cast<std::uint32_t>(ids.size())},
      {buffer(ids), buffer(word), buffer(position), buffer(type), buffer(gain), buffer(shift),
       buffer(y)},
      BatchShape{kLongest});
  EXPECT_LT(largest_error(y, normalised(sums, gain, shift)), 5e-6);
}

// One query of one head; keys past the length do not exist.
void attend_naively(std::span<const float> q, const Values& k, const Values& v, std::size_t first,
                    std::uint32_t length, std::span<double> out) {
  std::vector<double> weights(length);
  double total = 0;
  for (std::size_t key = 0; key < length; ++key) {
    double score = 0;
    for (std::size_t i = 0; i < kHeadWidth; ++i) {
      score += static_cast<double>(q[i]) * k[first + key * kHidden + i];
    }
    weights[key] = std::exp(score / std::sqrt(double{kHeadWidth}));
    total += weights[key];
  }
  for (std::size_t key = 0; key < length; ++key) {
    for (std::size_t i = 0; i < kHeadWidth; ++i) {
      out[i] += weights[key] / total * v[first + key * kHidden + i];
    }
  }
}

class Attention : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Attention, EqualsTheNaiveSoftmaxAndLooksAtNoKeyPastTheLength) {
  const std::uint32_t longest = GetParam();
  constexpr std::uint32_t kSentences = 3;
  Random random;
  const std::size_t count = std::size_t{kSentences} * longest * kHidden;
  Values q = random.values(count, 2);
  Values k = random.values(count, 2);
  Values v = random.values(count);
  Numbers lengths = {longest, 1, (longest + 1) / 2};
  std::vector<double> expected(count, 0);
  for (std::size_t sentence = 0; sentence < kSentences; ++sentence) {
    const std::size_t start = sentence * longest * kHidden;
    for (std::size_t at = start + lengths[sentence] * std::size_t{kHidden};
         at < start + std::size_t{longest} * kHidden; ++at) {
      k[at] = v[at] = std::numeric_limits<float>::quiet_NaN();
    }
    for (std::size_t query = 0; query < longest; ++query) {
      for (std::size_t head = 0; head < kHeads; ++head) {
        const std::size_t first = start + head * kHeadWidth;
        const std::size_t at = first + query * kHidden;
        attend_naively(std::span(q).subspan(at, kHeadWidth), k, v, first, lengths[sentence],
                       std::span(expected).subspan(at, kHeadWidth));
      }
    }
  }
  Values y = nobody_wrote(count);
  run(make_attention(), attention_grid(kSentences, longest),
      {buffer(q), buffer(k), buffer(v), buffer(lengths), buffer(y)}, BatchShape{longest});
  EXPECT_LT(largest_error(y, expected), 5e-6);
}
INSTANTIATE_TEST_SUITE_P(Longest, Attention, testing::Values(1, 2, 31, 32, 33, 70));

TEST(MeanPool, EqualsTheNaiveMeanOfUnitLengthWithoutThePadding) {
  constexpr std::uint32_t kLongest = 9;
  Random random;
  Numbers lengths = {9, 1, 4};
  Values x = random.values(lengths.size() * kLongest * kHidden);
  std::vector<double> expected(lengths.size() * kHidden, 0);
  for (std::size_t sentence = 0; sentence < lengths.size(); ++sentence) {
    const auto mean = std::span(expected).subspan(sentence * kHidden, kHidden);
    for (std::size_t row = 0; row < lengths[sentence]; ++row) {
      for (std::size_t i = 0; i < kHidden; ++i) {
        mean[i] += x[(sentence * kLongest + row) * kHidden + i];
      }
    }
    double squares = 0;
    for (const double value : mean) squares += value * value;
    for (double& value : mean) value /= std::sqrt(squares);
  }
  Values y = nobody_wrote(expected.size());
  run(make_mean_pool(), {.x = static_cast<std::uint32_t>(lengths.size())},
      {buffer(x), buffer(lengths), buffer(y)}, BatchShape{kLongest});
  EXPECT_LT(largest_error(y, expected), 1e-6);
}

}  // namespace
}  // namespace minilm
