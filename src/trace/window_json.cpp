// SPDX-License-Identifier: Apache-2.0
//
// The validating reader and the writer of windows. See window_json.hpp.
#include "trace/window_json.hpp"

#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "trace/input_text.hpp"
#include "trace/json_text.hpp"

namespace berth::trace {
namespace {

using nlohmann::json;

class WindowReader {
 public:
  explicit WindowReader(Source source) : source_(source) {}

  Window read(std::string_view text) {
    const json root = parse_json(text, source_);
    if (!root.is_object()) {
      refuse(source_, "a window is a JSON object, but this is " + kind_of(root) + ".");
    }
    window_.name = optional_text(root, "name", "the window");
    read_alignment(root);
    for (const json& tensor : member_list(root, "tensors")) read_tensor(tensor);
    for (const json& task : member_list(root, "tasks")) read_task(task);
    return std::move(window_);
  }

 private:
  const json& member_list(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
      refuse(source_, std::string("the window has no \"") + key + "\".");
    }
    if (!found->is_array()) {
      refuse(source_,
             std::string("\"") + key + "\" must be a list, but is " + kind_of(*found) + ".");
    }
    return *found;
  }

  std::string optional_text(const json& object, const char* key, const std::string& owner) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    if (!found->is_string()) {
      refuse(source_, std::string("\"") + key + "\" of " + owner + " must be a string, but is " +
                          kind_of(*found) + ".");
    }
    return found->get<std::string>();
  }

  void read_alignment(const json& root) {
    const auto found = root.find("alignment");
    if (found == root.end()) return;
    constexpr Bytes kMostAlignment = Bytes{1} << 30;
    if (!found->is_number_unsigned() || !std::has_single_bit(found->get<Bytes>()) ||
        found->get<Bytes>() > kMostAlignment) {
      refuse(source_, "\"alignment\" must be a power of two up to " +
                          std::to_string(kMostAlignment) + ", but is " + value_text(*found) + ".");
    }
    window_.alignment = found->get<Bytes>();
  }

  void read_tensor(const json& entry) {
    const std::string owner = "tensor number " + std::to_string(window_.tensors.size());
    if (!entry.is_object()) {
      refuse(source_, owner + " must be an object, but is " + kind_of(entry) + ".");
    }
    Tensor tensor;
    const auto id = entry.find("id");
    if (id == entry.end()) refuse(source_, owner + " has no \"id\".");
    tensor.id = read_id(*id, owner);
    const std::string name = "tensor " + value_text(*id);
    tensor.name = optional_text(entry, "name", name);
    tensor.kind = optional_text(entry, "kind", name);
    const auto bytes = entry.find("bytes");
    if (bytes == entry.end()) refuse(source_, name + " has no \"bytes\".");
    tensor.bytes = read_size(*bytes, source_, name);
    total_ += align_up(tensor.bytes, window_.alignment);
    if (total_ > kMostBytes) {
      refuse(source_, "the tensors up to " + name + " have " + std::to_string(total_) +
                          " bytes together, and at most " + std::to_string(kMostBytes) +
                          " are allowed.");
    }
    const auto index = static_cast<std::uint32_t>(window_.tensors.size());
    if (!index_.emplace(id->dump(), index).second) {
      refuse(source_, "the id " + value_text(*id) + " names two tensors.");
    }
    window_.tensors.push_back(std::move(tensor));
    seen_.push_back(0);
  }

  TensorName read_id(const json& id, const std::string& owner) {
    if (id.is_string()) return {id.get<std::string>(), false};
    if (id.is_number_unsigned()) return {id.dump(), true};
    refuse(source_, "the \"id\" of " + owner + " must be a whole number from 0 on or a string, " +
                        "but is " + value_text(id) + ".");
  }

  void read_task(const json& entry) {
    const std::string owner = "task " + std::to_string(window_.tasks.size());
    if (!entry.is_object()) {
      refuse(source_, owner + " must be an object, but is " + kind_of(entry) + ".");
    }
    Task task;
    task.name = optional_text(entry, "name", owner);
    task.reads = read_ids(entry, "reads", owner);
    task.writes = read_ids(entry, "writes", owner);
    window_.tasks.push_back(std::move(task));
  }

  std::vector<std::uint32_t> read_ids(const json& task, const char* key, const std::string& owner) {
    const auto list = task.find(key);
    if (list == task.end()) refuse(source_, owner + " has no \"" + key + "\".");
    if (!list->is_array()) {
      refuse(source_, std::string("\"") + key + "\" of " + owner + " must be a list, but is " +
                          kind_of(*list) + ".");
    }
    std::vector<std::uint32_t> indices;
    ++lists_;
    for (const json& id : *list) {
      const auto found = index_.find(id.dump());
      if (found == index_.end()) {
        refuse(source_, owner + " (" + key + ") names the tensor " + value_text(id) +
                            ", which is not among the window's tensors.");
      }
      if (seen_[found->second] == lists_) continue;  // bound twice, one access
      seen_[found->second] = lists_;
      indices.push_back(found->second);
    }
    return indices;
  }

  Source source_;
  Window window_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::uint64_t> seen_;  ///< per tensor: the last list that named it
  std::uint64_t lists_ = 0;
  Bytes total_ = 0;
};

}  // namespace

Window read_window_json(std::string_view text, std::string_view source) {
  return WindowReader(source).read(text);
}

std::string write_window_json(const Window& window) {
  using ordered = nlohmann::ordered_json;
  ordered root{{"name", window.name}, {"alignment", window.alignment}};
  ordered& tensors = root["tensors"] = ordered::array();
  for (const Tensor& tensor : window.tensors) {
    ordered entry{{"id", id_json(tensor.id)}, {"name", tensor.name}, {"bytes", tensor.bytes}};
    if (!tensor.kind.empty()) entry["kind"] = tensor.kind;
    tensors.push_back(std::move(entry));
  }
  ordered& tasks = root["tasks"] = ordered::array();
  const auto ids_of = [&](const std::vector<std::uint32_t>& indices) {
    ordered ids = ordered::array();
    for (const std::uint32_t index : indices) ids.push_back(id_json(window.tensors[index].id));
    return ids;
  };
  for (const Task& task : window.tasks) {
    tasks.push_back(
        {{"name", task.name}, {"reads", ids_of(task.reads)}, {"writes", ids_of(task.writes)}});
  }
  return root.dump() + "\n";
}

}  // namespace berth::trace
