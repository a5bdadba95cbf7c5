// SPDX-License-Identifier: Apache-2.0
//
// Plans as JSON: the record of a plan, its writer and its validating reader. See plan_record.hpp.
#include "trace/plan_record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "trace/input_text.hpp"
#include "trace/json_text.hpp"

namespace berth::trace {
namespace {

using nlohmann::json;

class PlanReader {
 public:
  PlanReader(std::string_view text, Source source)
      : source_(source), root_(parse_json(text, source)) {
    if (!root_.is_object()) {
      refuse(source_, "a plan is a JSON object, but this is " + kind_of(root_) + ".");
    }
  }

  PlanRecord read() {
    PlanRecord record;
    record.name = member(root_, "name", &json::is_string, "a string").get<std::string>();
    record.verdict = member(root_, "verdict", &json::is_string, "a string").get<std::string>();
    for (const json& page : list("pages")) {
      record.pages.push_back(read_size(bytes_of(page, "bytes"), source_,
                                       "page " + std::to_string(record.pages.size())));
    }
    for (const json& placement : list("placement")) read_placement(placement, record);
    record.lower_bound = read_size(bytes_of(root_, "lower_bound"), source_, "the lower bound");
    record.peak = read_size(bytes_of(root_, "peak"), source_, "the peak");
    record.ratio = number("ratio");
    record.time_ms = number("time_ms");
    record.barriers = count("barriers");
    record.levels = count("levels");
    read_order(record);
    return record;
  }

 private:
  using Test = bool (json::*)() const noexcept;

  const json& member(const json& object, const char* key, Test is, const char* what) {
    if (!object.is_object()) {
      refuse(source_, "an object with \"" + std::string(key) + "\" was expected, but found " +
                          kind_of(object) + ".");
    }
    const auto found = object.find(key);
    if (found == object.end()) refuse(source_, "the plan has no \"" + std::string(key) + "\".");
    if (!((*found).*is)()) {
      refuse(source_, "\"" + std::string(key) + "\" must be " + what + ", but is " +
                          value_text(*found) + ".");
    }
    return *found;
  }

  const json& list(const char* key) { return member(root_, key, &json::is_array, "a list"); }
  const json& bytes_of(const json& object, const char* key) {
    return member(object, key, &json::is_number, "a number");
  }
  double number(const char* key) {
    return member(root_, key, &json::is_number, "a number").get<double>();
  }
  std::uint32_t index(const json& value, std::uint64_t count, const std::string& what) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= count) {
      refuse(source_, what + " must be a whole number below " + std::to_string(count) +
                          ", but is " + value_text(value) + ".");
    }
    return value.get<std::uint32_t>();
  }
  std::uint32_t count(const char* key) {
    return index(member(root_, key, &json::is_number, "a number"), UINT32_MAX,
                 "\"" + std::string(key) + "\"");
  }

  void read_placement(const json& entry, PlanRecord& record) {
    const std::string owner = "placement number " + std::to_string(record.placement.size());
    Placement placement;
    const json& id = entry.is_object() && entry.contains("id") ? entry["id"] : json();
    if (id.is_string()) {
      placement.id = {id.get<std::string>(), false};
    } else if (id.is_number_unsigned()) {
      placement.id = {id.dump(), true};
    } else {
      refuse(source_, owner + " has no \"id\" that is a whole number or a string.");
    }
    if (!ids_.insert(id.dump()).second) {
      refuse(source_, "the tensor " + value_text(id) + " is placed twice.");
    }
    placement.page = index(bytes_of(entry, "page"), record.pages.size(), "the page of " + owner);
    placement.offset = read_size(bytes_of(entry, "offset"), source_, "the offset of " + owner);
    record.placement.push_back(std::move(placement));
  }

  void read_order(PlanRecord& record) {
    const json& order = list("order");
    std::vector<bool> seen(order.size(), false);
    for (const json& entry : order) {
      const std::uint32_t task = index(entry, order.size(), "a task in \"order\"");
      if (seen[task]) {
        refuse(source_, "\"order\" names task " + std::to_string(task) + " twice.");
      }
      seen[task] = true;
      record.order.push_back(task);
    }
  }

  Source source_;
  json root_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

PlanRecord record_of(const plan::Problem& problem, const plan::Plan& plan, RecordLabels labels) {
  PlanRecord record;
  record.name = std::move(labels.name);
  record.time_ms = labels.time_ms;
  record.verdict = std::move(labels.verdict);
  record.lower_bound = plan.statistics.lower_bound;
  record.barriers = plan.statistics.barriers;
  record.levels = plan.statistics.levels;
  for (const plan::TaskId task : plan.order) record.order.push_back(task.value);
  std::vector<std::uint32_t> number(plan.pages.size(), 0);
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    if (!plan.pages[p].used) continue;
    number[p] = static_cast<std::uint32_t>(record.pages.size());
    record.pages.push_back(plan.pages[p].bytes);
    record.peak += plan.pages[p].bytes;
  }
  std::vector<bool> used(problem.versions.size(), false);
  for (const plan::Use& use : problem.uses) used[use.version.index()] = true;
  for (std::size_t v = 0; v < used.size(); ++v) {
    if (!used[v]) continue;
    Placement placement{labels.ids[v], 0, plan.places[v].offset};
    if (problem.versions[v].bytes == 0) {
      placement = {labels.ids[v], static_cast<std::uint32_t>(record.pages.size()), 0};
      record.pages.push_back(0);
    } else {
      placement.page = number[plan.places[v].page.index()];
    }
    record.placement.push_back(std::move(placement));
  }
  if (record.lower_bound != 0) {
    record.ratio = static_cast<double>(record.peak) / static_cast<double>(record.lower_bound);
  }
  return record;
}

std::string write_plan_json(const PlanRecord& record) {
  using ordered = nlohmann::ordered_json;
  ordered pages = ordered::array();
  for (const Bytes bytes : record.pages) pages.push_back({{"bytes", bytes}});
  ordered placement = ordered::array();
  for (const Placement& place : record.placement) {
    placement.push_back(
        {{"id", id_json(place.id)}, {"page", place.page}, {"offset", place.offset}});
  }
  const ordered root{{"name", record.name},
                     {"pages", std::move(pages)},
                     {"placement", std::move(placement)},
                     {"lower_bound", record.lower_bound},
                     {"peak", record.peak},
                     {"ratio", record.ratio},
                     {"barriers", record.barriers},
                     {"levels", record.levels},
                     {"order", record.order},
                     {"time_ms", record.time_ms},
                     {"verdict", record.verdict}};
  return root.dump() + "\n";
}

PlanRecord read_plan_json(std::string_view text, std::string_view source) {
  return PlanReader(text, source).read();
}

}  // namespace berth::trace
