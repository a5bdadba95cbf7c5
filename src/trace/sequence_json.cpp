// SPDX-License-Identifier: Apache-2.0
//
// Sequences of windows as JSON. See sequence_json.hpp.
#include "trace/sequence_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "trace/input_text.hpp"
#include "trace/json_text.hpp"
#include "trace/window_json.hpp"

namespace berth::trace {
namespace {

using nlohmann::json;

const json& list_of(const json& object, const char* key, Source source) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array()) {
    refuse(source, std::string("a sequence of windows has a list \"") + key +
                       "\" in each object "
                       "that needs one, and here it is missing.");
  }
  return *found;
}

void read_held(const json& root, Source source, Sequence& sequence) {
  for (const json& tensor : list_of(root, "tensors", source)) {
    const json held = tensor.is_object() ? tensor.value("held", json(false)) : json();
    if (!held.is_boolean()) {
      refuse(source, "\"held\" of tensor number " + std::to_string(sequence.held.size()) +
                         " must be true or false, but is " + value_text(held) + ".");
    }
    sequence.held.push_back(held.get<bool>());
  }
}

void read_steps(const json& root, Source source, Sequence& sequence) {
  for (const json& step : list_of(root, "steps", source)) {
    if (!step.is_number_unsigned() || step.get<std::uint64_t>() >= sequence.windows.size()) {
      refuse(source, "step " + std::to_string(sequence.steps.size()) +
                         " must be the index of one of " + std::to_string(sequence.windows.size()) +
                         " windows, but is " + value_text(step) + ".");
    }
    sequence.steps.push_back(step.get<std::uint32_t>());
  }
}

}  // namespace

Sequence read_sequence_json(std::string_view text, std::string_view source) {
  const json root = parse_json(text, source);
  Sequence sequence;
  const json& windows = list_of(root, "windows", source);
  read_held(root, source, sequence);
  // Each window is read as if it stood alone with all tensors: one reader, one set of rules.
  json alone = root;
  alone.erase("windows");
  for (const json& window : windows) {
    alone["tasks"] = list_of(window, "tasks", source);
    sequence.windows.push_back(read_window_json(alone.dump(), source));
    sequence.name = std::exchange(sequence.windows.back().name, window.value("name", ""));
  }
  read_steps(root, source, sequence);
  return sequence;
}

plan::Problem to_problem(const Sequence& sequence, std::size_t step) {
  plan::Problem problem = to_problem(sequence.windows[sequence.steps[step]]);
  std::vector<bool> written(sequence.held.size(), false);
  for (std::size_t earlier = 0; earlier < step; ++earlier) {
    for (const Task& task : sequence.windows[sequence.steps[earlier]].tasks) {
      for (const std::uint32_t tensor : task.writes) written[tensor] = true;
    }
  }
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    plan::Version& version = problem.versions[v];
    version.pool = sequence.held[v] ? kHeldPool : kTransientPool;
    version.outlives = sequence.held[v];
    version.incoming = sequence.held[v] && written[v];
  }
  return problem;
}

}  // namespace berth::trace
