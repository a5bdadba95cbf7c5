// SPDX-License-Identifier: Apache-2.0
//
// `berth plan FILE`. See plan_command.hpp.
#include "plan_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/error.hpp"
#include "berth/plan/planner.hpp"
#include "trace/lifetimes_csv.hpp"
#include "trace/plan_record.hpp"
#include "trace/plan_svg.hpp"
#include "trace/window_json.hpp"

namespace berth::tools {
namespace {

using plan::Effort;
using plan::Mode;
using plan::Order;
using plan::Plan;
using plan::Problem;

constexpr int kPlaced = 0;
constexpr int kFailed = 1;
constexpr int kBadInput = 2;
constexpr int kNeverFits = 3;
constexpr int kNotFound = 4;

struct PlanArguments {
  std::string file;
  std::string effort = "good";
  std::int64_t time_ms = 1000;
  std::string mode = "least-memory";
  double extra_percent = 10;
  std::string order;
  bool no_exclusion = false;
  std::optional<Bytes> page_limit;
  std::optional<Bytes> capacity;
  std::string json;
  std::string csv;
  std::string svg;
};

Effort effort_of(const PlanArguments& arguments) {
  if (arguments.effort == "fast") return Effort::fast;
  return arguments.effort == "best" ? Effort::best : Effort::good;
}

Mode mode_of(const PlanArguments& arguments) {
  return arguments.mode == "most-overlap" ? Mode::most_overlap : Mode::least_memory;
}

/// Overlap is about levels, so most_overlap looks at level order unless told otherwise.
Order order_of(const PlanArguments& arguments) {
  if (arguments.order == "free") return Order::free;
  if (arguments.order == "level") return Order::level;
  if (arguments.order == "program") return Order::program;
  return mode_of(arguments) == Mode::most_overlap ? Order::level : Order::program;
}

/// A file's contents as a problem, with the names that its author gave.
struct Input {
  std::string name;
  Problem problem;
  std::vector<trace::TensorName> ids;  ///< per version
  std::vector<std::string> versions;   ///< per version: its label in a picture
  std::vector<std::string> tasks;      ///< per task
  bool is_csv = false;
  std::vector<trace::Buffer> lifetimes;  ///< of a CSV file, per version
};

std::string read_file(const std::string& path) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::invalid_argument, path + ": " + why);
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) refuse("there is no such file.");
  if (std::filesystem::is_directory(path, ignored)) refuse("this is a folder, not a file.");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse("the file cannot be opened.");
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) refuse("the file cannot be read.");
  return text;
}

/// Writes all or nothing: a file of another name takes the place of `path` once it is complete.
void write_file(const std::string& path, const std::string& text) {
  const std::string partial = path + ".part";
  std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  std::error_code failure;
  if (stream) std::filesystem::rename(partial, path, failure);
  if (!stream || failure) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw Error(ErrorCode::unavailable, path + ": the file cannot be written.");
  }
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

Input read_input(const std::string& path) {
  const std::string text = read_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  Input input;
  if (json || path.ends_with(".json")) {
    trace::Window window = trace::read_window_json(text, path);
    input.problem = trace::to_problem(window);
    input.name = std::move(window.name);
    for (trace::Tensor& tensor : window.tensors) {
      input.versions.push_back(tensor.name.empty() ? tensor.id.id : std::move(tensor.name));
      input.ids.push_back(std::move(tensor.id));
    }
    for (trace::Task& task : window.tasks) input.tasks.push_back(std::move(task.name));
  } else {
    trace::Lifetimes lifetimes = trace::read_lifetimes_csv(text, path);
    input.problem = trace::to_problem(lifetimes);
    for (const trace::Buffer& buffer : lifetimes.buffers) {
      input.versions.push_back(buffer.id.id);
      input.ids.push_back(buffer.id);
    }
    input.lifetimes = std::move(lifetimes.buffers);
    input.is_csv = true;
  }
  if (input.name.empty()) input.name = stem_of(path);
  return input;
}

/// Puts the options into the problem. Errors: a tensor larger than a page, an order for a CSV file.
void apply(const PlanArguments& arguments, Input& input) {
  Problem& problem = input.problem;
  const auto refuse = [&](const std::string& sentence) {
    throw Error(ErrorCode::invalid_argument, arguments.file + ": " + sentence);
  };
  problem.goal.mode = mode_of(arguments);
  problem.goal.order = order_of(arguments);
  if (input.is_csv) {
    if (!arguments.order.empty() && problem.goal.order != Order::program) {
      refuse("a CSV file gives lifetimes, so only the program order has a meaning.");
    }
    problem.goal.order = Order::program;
  }
  if (arguments.no_exclusion) problem.device.exclusion = false;
  if (arguments.capacity) problem.device.budget = *arguments.capacity;
  if (!arguments.page_limit) return;
  problem.device.max_page_bytes = *arguments.page_limit;
  for (std::size_t v = 0; v < problem.versions.size(); ++v) {
    if (problem.versions[v].bytes > *arguments.page_limit) {
      refuse(fmt::format("the tensor {} has {} bytes, and a page has at most {} (--page-limit).",
                         input.ids[v].id, problem.versions[v].bytes, *arguments.page_limit));
    }
  }
}

using Answer = std::variant<Plan, plan::NoPlan>;

/// `--extra` is a share of the printed order's max live, Goal counts from the least-memory plan:
/// that plan is made first, and what is left between the two is what may be spent.
Answer place_with_overlap(Input& input, const PlanArguments& arguments,
                          const plan::Options& options) {
  Problem& problem = input.problem;
  problem.goal.mode = Mode::least_memory;
  plan::Options first = options;
  if (first.effort == Effort::best) first.effort = Effort::good;
  const Answer least = plan::place(problem, first);
  problem.goal.mode = Mode::most_overlap;
  problem.goal.extra_share = 0;
  problem.goal.extra_at_least = 0;
  if (const Plan* const plan = std::get_if<Plan>(&least)) {
    const auto allowed =
        static_cast<Bytes>(std::floor(static_cast<double>(plan->statistics.lower_bound) *
                                      (1.0 + arguments.extra_percent / 100.0)));
    const Bytes peak = plan->statistics.peak;
    problem.goal.extra_at_least = allowed > peak ? allowed - peak : 0;
  }
  return plan::place(problem, options);
}

std::string csv_of(const Input& input, const Plan& plan) {
  // One address space: the pages one after the other, each at a multiple of all alignments.
  Bytes alignment = 1;
  for (const plan::Version& version : input.problem.versions) {
    alignment = std::max(alignment, version.alignment);
  }
  std::vector<Bytes> base(plan.pages.size(), 0);
  Bytes next = 0;
  for (std::size_t p = 0; p < plan.pages.size(); ++p) {
    if (!plan.pages[p].used) continue;
    base[p] = next;
    next = align_up(next + plan.pages[p].bytes, alignment);
  }
  std::vector<std::int64_t> lower(input.ids.size(), -1);
  std::vector<std::int64_t> upper(input.ids.size(), -1);
  for (std::size_t position = 0; position < plan.order.size(); ++position) {
    const plan::Task& task = input.problem.tasks[plan.order[position].index()];
    for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
      const std::size_t v = input.problem.uses[u].version.index();
      if (lower[v] < 0) lower[v] = static_cast<std::int64_t>(position);
      upper[v] = static_cast<std::int64_t>(position) + 1;
    }
  }
  std::vector<trace::PlacedBuffer> placed;
  for (std::size_t v = 0; v < input.ids.size(); ++v) {
    if (lower[v] < 0) continue;
    const plan::Place& place = plan.places[v];
    const Bytes bytes = input.problem.versions[v].bytes;
    const Bytes offset = bytes == 0 ? 0 : base[place.page.index()] + place.offset;
    if (!input.is_csv) {
      placed.push_back({{input.ids[v], lower[v], upper[v], bytes}, offset});
    } else {
      placed.push_back({input.lifetimes[v], offset});
    }
  }
  return trace::write_lifetimes_csv(placed);
}

void print(std::FILE* out, const Input& input, const trace::PlanRecord& record) {
  fmt::print(out, "{:<12}{}\n", "window", record.name);
  fmt::print(out, "{:<12}{}\n", "tensors", input.problem.versions.size());
  fmt::print(out, "{:<12}{}\n", "tasks", input.problem.tasks.size());
  fmt::print(out, "{:<12}{}\n", "lower bound", record.lower_bound);
  fmt::print(out, "{:<12}{}\n", "peak", record.peak);
  fmt::print(out, "{:<12}{:.6f}\n", "ratio", record.ratio);
  fmt::print(out, "{:<12}{}\n", "pages", record.pages.size());
  fmt::print(out, "{:<12}{}\n", "barriers", record.barriers);
  fmt::print(out, "{:<12}{:.3f} ms\n", "time", record.time_ms);
  fmt::print(out, "{:<12}{}\n", "verdict", record.verdict);
}

int plan_file(const PlanArguments& arguments) {
  Input input = read_input(arguments.file);
  apply(arguments, input);
  const plan::Options options{effort_of(arguments), std::chrono::milliseconds(arguments.time_ms)};
  const auto start = std::chrono::steady_clock::now();
  const Answer answer = mode_of(arguments) == Mode::most_overlap
                            ? place_with_overlap(input, arguments, options)
                            : plan::place(input.problem, options);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  if (const auto* const none = std::get_if<plan::NoPlan>(&answer)) {
    fmt::print(stderr, "{}: {}\n", arguments.file, none->message);
    return none->reason == plan::NoPlan::Reason::never_fits ? kNeverFits : kNotFound;
  }
  const Plan& plan = std::get<Plan>(answer);
  const std::vector<plan::Violation> violations = plan::check(input.problem, plan);
  const trace::PlanRecord record =
      trace::record_of(input.problem, plan,
                       {input.name, input.ids, time.count(),
                        violations.empty() ? std::string("right") : violations.front().message});
  // A plan on standard output must stay readable for programs.
  print(arguments.json == "-" ? stderr : stdout, input, record);
  if (!violations.empty()) return kFailed;
  if (arguments.json == "-") {
    fmt::print("{}", trace::write_plan_json(record));
  } else if (!arguments.json.empty()) {
    write_file(arguments.json, trace::write_plan_json(record));
  }
  if (!arguments.csv.empty()) write_file(arguments.csv, csv_of(input, plan));
  if (!arguments.svg.empty()) {
    write_file(arguments.svg, trace::draw_svg(input.problem, plan,
                                              {fmt::format("{}: {} bytes, {:.4f} x max live",
                                                           input.name, record.peak, record.ratio),
                                               input.versions, input.tasks}));
  }
  return kPlaced;
}

int run(const PlanArguments& arguments) {
  try {
    return plan_file(arguments);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.code() == ErrorCode::invalid_argument ? kBadInput : kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: this machine has too little memory to plan it.\n", arguments.file);
    return kFailed;
  }
}

}  // namespace

void add_plan_command(CLI::App& app, std::function<int()>& chosen) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* const command =
      app.add_subcommand("plan", "Place the tensors of a window, or buffers with lifetimes");
  command->add_option("FILE", arguments->file, "Window as JSON, or MiniMalloc CSV")->required();
  command->add_option("--effort", arguments->effort, "How hard to try (good)")
      ->check(CLI::IsMember({"fast", "good", "best"}))
      ->option_text("fast|good|best");
  command->add_option("--time", arguments->time_ms, "Budget of the effort best (1000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86'400'000}))
      ->option_text("MS");
  command->add_option("--mode", arguments->mode, "What to aim for (least-memory)")
      ->check(CLI::IsMember({"least-memory", "most-overlap"}))
      ->option_text("least-memory|most-overlap");
  command
      ->add_option("--extra", arguments->extra_percent,
                   "most-overlap: memory above the printed order's max live (10)")
      ->check(CLI::Range(0.0, 100'000.0))
      ->option_text("PERCENT");
  command
      ->add_option("--order", arguments->order,
                   "Order of the tasks (program; level with most-overlap)")
      ->check(CLI::IsMember({"program", "level", "free"}))
      ->option_text("program|level|free");
  command->add_flag("--no-exclusion", arguments->no_exclusion,
                    "Let a task read and write one page");
  command->add_option("--page-limit", arguments->page_limit, "Most bytes of a page")
      ->check(CLI::Range(Bytes{1}, trace::kMostBytes))
      ->option_text("B");
  command->add_option("--capacity", arguments->capacity, "Most bytes of all pages together")
      ->check(CLI::Range(Bytes{1}, trace::kMostBytes))
      ->option_text("B");
  command->add_option("--json", arguments->json, "Write the plan as JSON")->option_text("OUT|-");
  command->add_option("--csv", arguments->csv, "Write MiniMalloc CSV with offsets")
      ->option_text("OUT");
  command->add_option("--svg", arguments->svg, "Draw the plan")->option_text("OUT");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace berth::tools
