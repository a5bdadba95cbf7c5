// SPDX-License-Identifier: Apache-2.0
#include "berth/uniforms.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth {

void Uniforms::add_words(Type type, std::span<const std::uint32_t> words) {
  if (field_count_ == kMaxFields || word_count_ + words.size() > kMaxWords) {
    throw Error(ErrorCode::invalid_argument,
                text("Uniforms hold at most ", kMaxFields, " fields of ", kMaxWords,
                     " components together; put larger data into a tensor."));
  }
  types_[field_count_++] = type;
  std::copy(words.begin(), words.end(), words_.begin() + word_count_);
  word_count_ += static_cast<std::uint32_t>(words.size());
}

}  // namespace berth
