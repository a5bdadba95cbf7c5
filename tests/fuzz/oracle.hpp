// SPDX-License-Identifier: Apache-2.0
//
// The serial oracle: runs a program one operation after another, each tensor in memory of its own,
// and says what every read must answer. It also says which operations are valid, by the contract's
// words: no use of a runtime, no code shared with the library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fuzz_program.hpp"

namespace berth::fuzz {

/// What an operation must do.
enum class Verdict : std::uint8_t {
  skipped,  ///< not valid here: it is not run at all
  runs,
  refused_too_large,  ///< a binding exceeds the limit: the call throws and changes nothing
};

/// What a read must answer: a word, or nothing where the contents are undefined.
using Words = std::vector<std::optional<std::uint32_t>>;

class Oracle {
 public:
  explicit Oracle(const Sizes& sizes) : sizes_(sizes), names_(kTensors) {}

  /// Runs one operation if it is valid. Reads leave their answer in last_read().
  [[nodiscard]] Verdict run(const Operation& operation);

  [[nodiscard]] const Words& last_read() const { return last_read_; }
  [[nodiscard]] bool holds(std::uint32_t name) const { return names_[name] != nullptr; }
  [[nodiscard]] std::uint32_t words_of(std::uint32_t name) const;
  [[nodiscard]] bool readable(const Part& part) const;

 private:
  struct Tensor {
    Words words;
    bool contents = false;
  };
  struct Use {
    Part part;
    enum class Access : std::uint8_t { read, write, read_write } access;
  };

  [[nodiscard]] bool fits(const Part& part) const;
  [[nodiscard]] Verdict judge(const std::vector<Use>& uses) const;
  [[nodiscard]] bool allowed_together(const Use& x, const Use& y) const;
  [[nodiscard]] bool whole(const Part& part) const;
  [[nodiscard]] Words take(const Part& part) const;
  void put(const Part& part, const Words& words);
  [[nodiscard]] Verdict launch(const Operation& operation);
  [[nodiscard]] Verdict make(const Operation& operation);

  Sizes sizes_;
  std::vector<std::shared_ptr<Tensor>> names_;
  Words last_read_;
};

}  // namespace berth::fuzz
