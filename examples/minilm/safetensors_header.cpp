// SPDX-License-Identifier: Apache-2.0
//
// Header rules: https://github.com/huggingface/safetensors, README "Format" (no duplicate keys, no
// holes, offsets relative to the data block). nlohmann's parser keeps the last of two equal keys
// without a word, so a callback watches the keys as they come.
// Thread safety: pure functions.
#include "minilm/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "minilm/input_error.hpp"

namespace minilm {
namespace {

using Json = nlohmann::json;

// The header is an object of objects of lists: anything deeper is no header.
constexpr int kMaxDepth = 3;

struct DtypeBytes {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<DtypeBytes, 17> kDtypes{{{"BOOL", 1},
                                              {"U8", 1},
                                              {"I8", 1},
                                              {"F8_E4M3", 1},
                                              {"F8_E5M2", 1},
                                              {"F8_E8M0", 1},
                                              {"U16", 2},
                                              {"I16", 2},
                                              {"F16", 2},
                                              {"BF16", 2},
                                              {"U32", 4},
                                              {"I32", 4},
                                              {"F32", 4},
                                              {"U64", 8},
                                              {"I64", 8},
                                              {"F64", 8},
                                              {"C64", 8}}};

std::optional<std::uint64_t> dtype_bytes(std::string_view name) {
  const auto* const found = std::ranges::find(kDtypes, name, &DtypeBytes::name);
  if (found == kDtypes.end()) return std::nullopt;
  return found->bytes;
}

std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

// Builds the sentences: the file first, then the tensor.
class Complaint {
 public:
  explicit Complaint(const std::string& path) : start_("The safetensors file '" + path + "' ") {}
  [[nodiscard]] InputError operator()(const std::string& rest) const {
    return InputError(start_ + rest + ".");
  }
  [[nodiscard]] InputError tensor(const std::string& name, const std::string& rest) const {
    return (*this)("has a tensor '" + name + "' " + rest);
  }

 private:
  std::string start_;
};

Json parse_json(std::string_view header, const Complaint& complain) {
  if (!header.starts_with('{')) {
    throw complain("has a header of " + std::to_string(header.size()) +
                   " bytes that does not start with '{'");
  }
  std::vector<std::set<std::string>> keys(kMaxDepth + 1);
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kMaxDepth) {
        throw complain("has a header nested deeper than " + std::to_string(kMaxDepth) + " levels");
      }
      keys[static_cast<std::size_t>(depth) + 1].clear();
    } else if (event == Json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!keys[static_cast<std::size_t>(depth)].insert(name).second) {
        throw complain("has the name '" + name + "' twice in its header");
      }
    }
    return true;
  };
  try {
    return Json::parse(header.begin(), header.end(), watch);
  } catch (const Json::parse_error& error) {
    throw complain("has a header that is not JSON: it fails at byte " + std::to_string(error.byte) +
                   " of " + std::to_string(header.size()));
  } catch (const Json::out_of_range&) {
    throw complain("has a header with a number out of range");
  }
}

// A list of non-negative whole numbers, or nothing.
std::optional<std::vector<std::uint64_t>> read_numbers(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const Json& value : *found) {
    if (!value.is_number_unsigned()) return std::nullopt;
    numbers.push_back(value.get<std::uint64_t>());
  }
  return numbers;
}

TensorInfo read_tensor(const std::string& name, const Json& entry, std::uint64_t data_bytes,
                       const Complaint& complain) {
  if (!entry.is_object()) throw complain.tensor(name, "whose entry is not a JSON object");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) {
    throw complain.tensor(name, "without a dtype");
  }
  const auto shape = read_numbers(entry, "shape");
  if (!shape) throw complain.tensor(name, "whose shape is not a list of non-negative integers");
  const auto offsets = read_numbers(entry, "data_offsets");
  if (!offsets || offsets->size() != 2) {
    throw complain.tensor(name, "whose data_offsets are not two non-negative integers");
  }
  TensorInfo info{name, dtype->get<std::string>(), *shape, (*offsets)[0], (*offsets)[1]};
  const std::string range =
      "bytes [" + std::to_string(info.begin) + ", " + std::to_string(info.end) + ")";
  if (info.begin > info.end || info.end > data_bytes) {
    throw complain.tensor(
        name, "at " + range + ", outside its " + std::to_string(data_bytes) + " bytes of data");
  }
  std::optional<std::uint64_t> bytes = dtype_bytes(info.dtype);
  if (!bytes) throw complain.tensor(name, "of the unknown dtype '" + info.dtype + "'");
  for (const std::uint64_t size : info.shape) {
    bytes = multiply(*bytes, size);
    if (!bytes) {
      throw complain.tensor(name, "of shape " + shape_name(info.shape) +
                                      ", which has more bytes than 64 bits can count");
    }
  }
  if (*bytes != info.end - info.begin) {
    throw complain.tensor(name, "of dtype " + info.dtype + " and shape " + shape_name(info.shape) +
                                    ", which is " + std::to_string(*bytes) + " bytes, at " + range +
                                    ", which is " + std::to_string(info.end - info.begin));
  }
  return info;
}

// Each tensor starts where the one before ends, and the last ends with the data.
void check_places(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes,
                  const Complaint& complain) {
  std::uint64_t at = 0;
  for (const TensorInfo& info : tensors) {
    if (info.begin < at) {
      throw complain.tensor(info.name, "that starts at byte " + std::to_string(info.begin) +
                                           " and overlaps the one before, which ends at byte " +
                                           std::to_string(at));
    }
    if (info.begin > at) {
      throw complain.tensor(info.name, "that starts at byte " + std::to_string(info.begin) +
                                           " and leaves a hole behind byte " + std::to_string(at));
    }
    at = info.end;
  }
  if (at != data_bytes) {
    throw complain("has tensors of " + std::to_string(at) + " bytes in all, but " +
                   std::to_string(data_bytes) + " bytes of data");
  }
}

}  // namespace

std::string shape_name(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

std::vector<TensorInfo> parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                                                 const std::string& path) {
  const Complaint complain(path);
  const Json json = parse_json(header, complain);
  std::vector<TensorInfo> tensors;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;  // free text of the writer, not ours to judge
    tensors.push_back(read_tensor(name, entry, data_bytes, complain));
  }
  std::ranges::sort(tensors, [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_places(tensors, data_bytes, complain);
  return tensors;
}

}  // namespace minilm
