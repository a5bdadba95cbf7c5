// SPDX-License-Identifier: Apache-2.0
//
// MiniMalloc's CSV format. See lifetimes_csv.hpp.
#include "trace/lifetimes_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

#include "trace/input_text.hpp"

namespace berth::trace {
namespace {

enum Column : std::size_t { kId, kLower, kUpper, kSize, kOffset, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"id", "lower", "upper", "size",
                                                           "offset"};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

class CsvReader {
 public:
  explicit CsvReader(Source source) : source_(source) { at_.fill(kMissing); }

  Lifetimes read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      std::string_view line = text.substr(0, newline);
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (width_ == 0) {
        read_header(line);
      } else {
        read_buffer(line);
      }
    }
    if (width_ == 0) refuse(source_, "the file is empty.");
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kMissing = ~std::size_t{0};

  [[nodiscard]] std::string here() const { return "line " + std::to_string(line_) + " "; }

  void read_header(std::string_view line) {
    const std::vector<std::string_view> names = fields_of(line);
    width_ = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto* const column = std::ranges::find(kNames, names[i]);
      if (column == kNames.end()) {
        refuse(source_, here() +
                            "must be the header id,lower,upper,size[,offset], but has a column " +
                            in_quotes(names[i]) + ".");
      }
      std::size_t& at = at_[static_cast<std::size_t>(column - kNames.begin())];
      if (at != kMissing) {
        refuse(source_, here() + "names the column " + in_quotes(names[i]) + " twice.");
      }
      at = i;
    }
    for (std::size_t column = kId; column < kOffset; ++column) {
      if (at_[column] == kMissing) {
        refuse(source_, here() +
                            "must be the header id,lower,upper,size[,offset], but has no column " +
                            in_quotes(kNames[column]) + ".");
      }
    }
  }

  template <class Number>
  Number number(const std::vector<std::string_view>& fields, Column column) {
    const std::string_view field = fields[at_[column]];
    Number value{};
    const auto parsed = std::from_chars(field.data(), field.data() + field.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != field.data() + field.size()) {
      refuse(source_,
             here() + "has the " + std::string(kNames[column]) + " " + in_quotes(field) +
                 ", which is no whole number" +
                 (std::is_unsigned_v<Number> ? " of bytes from 0 to " + std::to_string(kMostBytes)
                                             : std::string(" of 64 bits")) +
                 ".");
    }
    return value;
  }

  Bytes bytes(const std::vector<std::string_view>& fields, Column column) {
    const auto value = number<Bytes>(fields, column);
    if (value > kMostBytes) {
      refuse(source_, here() + "has the " + std::string(kNames[column]) + " " +
                          std::to_string(value) + ", above the limit of " +
                          std::to_string(kMostBytes) + " bytes.");
    }
    return value;
  }

  void read_buffer(std::string_view line) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != width_) {
      refuse(source_, here() + "has " + std::to_string(fields.size()) + " fields, and the header " +
                          std::to_string(width_) + ".");
    }
    Buffer buffer;
    buffer.id.id = std::string(fields[at_[kId]]);
    buffer.id.numeric = is_number(buffer.id.id);
    if (buffer.id.id.empty()) refuse(source_, here() + "has an empty id.");
    buffer.lower = number<std::int64_t>(fields, kLower);
    buffer.upper = number<std::int64_t>(fields, kUpper);
    buffer.bytes = bytes(fields, kSize);
    if (at_[kOffset] != kMissing) static_cast<void>(bytes(fields, kOffset));
    if (buffer.upper <= buffer.lower) {
      refuse(source_, here() + "has a lifetime from " + std::to_string(buffer.lower) + " to " +
                          std::to_string(buffer.upper) + ", which is empty.");
    }
    if (!ids_.insert(buffer.id.id).second) {
      refuse(source_, here() + "names the id " + in_quotes(buffer.id.id) + " a second time.");
    }
    total_ += buffer.bytes;
    if (total_ > kMostBytes) {
      refuse(source_, "the buffers up to line " + std::to_string(line_) + " have " +
                          std::to_string(total_) + " bytes together, and at most " +
                          std::to_string(kMostBytes) + " are allowed.");
    }
    result_.buffers.push_back(std::move(buffer));
  }

  /// A number that is written back as it was: digits without a leading zero, within 64 bits.
  static bool is_number(const std::string& id) {
    constexpr std::size_t kSafeDigits = 19;
    return !id.empty() && id.size() <= kSafeDigits && (id.size() == 1 || id[0] != '0') &&
           std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
  }

  Source source_;
  Lifetimes result_;
  std::array<std::size_t, kColumns> at_{};  ///< per column: its field
  std::size_t width_ = 0;
  std::size_t line_ = 0;
  std::unordered_set<std::string> ids_;
  Bytes total_ = 0;
};

}  // namespace

Lifetimes read_lifetimes_csv(std::string_view text, std::string_view source) {
  return CsvReader(source).read(text);
}

std::string write_lifetimes_csv(const std::vector<PlacedBuffer>& buffers) {
  std::string text = "id,lower,upper,size,offset\n";
  for (const PlacedBuffer& placed : buffers) {
    const Buffer& buffer = placed.buffer;
    text += buffer.id.id + "," + std::to_string(buffer.lower) + "," + std::to_string(buffer.upper) +
            "," + std::to_string(buffer.bytes) + "," + std::to_string(placed.offset) + "\n";
  }
  return text;
}

}  // namespace berth::trace
