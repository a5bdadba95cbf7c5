// SPDX-License-Identifier: Apache-2.0
#include "embed_summary.hpp"

#include <fmt/format.h>

#include <numeric>

namespace berth::tools {
namespace {

constexpr std::size_t kShownCodePoints = 48;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x20U || value == 0x7FU;
}

}  // namespace

std::string shortened(std::string_view sentence, std::size_t limit) {
  std::string text;
  std::size_t count = 0;
  for (const char byte : sentence) {
    if (!continues(byte) && ++count > limit) return text + "…";
    text += is_control(byte) ? ' ' : byte;
  }
  return text;
}

std::string similarity_table(std::span<const std::string> sentences,
                             std::span<const minilm::Embedding> embeddings) {
  std::string text = "cosine similarity\n    ";
  for (std::size_t i = 0; i < sentences.size(); ++i) text += fmt::format("{:>7}", i + 1);
  text += '\n';
  for (std::size_t row = 0; row < sentences.size(); ++row) {
    text += fmt::format("{:>4}", row + 1);
    for (const minilm::Embedding& other : embeddings) {
      // Embeddings are of length 1.
      text += fmt::format(
          "{:>7.3f}", std::inner_product(other.begin(), other.end(), embeddings[row].begin(), 0.0));
    }
    text += "   " + shortened(sentences[row], kShownCodePoints) + '\n';
  }
  return text;
}

}  // namespace berth::tools
