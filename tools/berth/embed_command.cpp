// SPDX-License-Identifier: Apache-2.0
//
// Everything that may be refused is looked at before the device is asked for, and files are written
// when all embeddings are there.
#include "embed_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/report.hpp"
#include "berth_build_paths.hpp"
#include "embed_summary.hpp"
#include "exit_code.hpp"
#include "minilm/atomic_file.hpp"
#include "minilm/input_error.hpp"
#include "minilm/json_output.hpp"
#include "minilm/model.hpp"
#include "minilm/npy.hpp"
#include "minilm/safetensors.hpp"
#include "minilm/text_input.hpp"
#include "minilm/wordpiece.hpp"
#include "runtime_options.hpp"

namespace berth::tools {
namespace {

constexpr const char* kModelVariable = "BERTH_MINILM_DIR";
constexpr std::size_t kFewSentences = 64;  // fewer need no progress

struct EmbedArguments {
  RuntimeOptions runtime;
  std::string model;
  std::string file;
  std::string json;
  std::string npy;
  std::vector<std::string> sentences;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One line on a terminal that counts up and is gone at the end, also when something fails.
class Progress {
 public:
  explicit Progress(std::size_t total)
      : total_(total), shown_(total > kFewSentences && ::isatty(STDERR_FILENO) != 0) {
    show(0);
  }
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done) const {
    if (!shown_) return;
    std::fprintf(stderr, "\r%zu of %zu sentences", done, total_);
    std::fflush(stderr);
  }

 private:
  std::size_t total_;
  bool shown_;
};

std::vector<std::string> sentences_of(const EmbedArguments& arguments) {
  if (!arguments.file.empty()) {
    if (!arguments.sentences.empty()) {
      throw UsageError(fmt::format("There are {} sentences beside --file; give one or the other.",
                                   arguments.sentences.size()));
    }
    return minilm::read_sentences(arguments.file);
  }
  if (arguments.sentences.empty()) {
    throw UsageError("There is nothing to embed: give sentences, or --file with a text file.");
  }
  for (std::size_t i = 0; i < arguments.sentences.size(); ++i) {
    minilm::check_sentence(arguments.sentences[i], i + 1);
  }
  return arguments.sentences;
}

std::filesystem::path model_folder(const EmbedArguments& arguments) {
  std::filesystem::path folder = build_paths::kMiniLm;
  if (const char* const named = std::getenv(kModelVariable)) folder = named;
  if (!arguments.model.empty()) folder = arguments.model;
  for (const char* const file : {"model.safetensors", "vocab.txt"}) {
    if (!std::filesystem::exists(folder / file)) {
      throw UsageError(fmt::format(
          "The model is not there: '{}' does not exist; run `make setup`, or name the folder with "
          "--model or ${}.",
          (folder / file).string(), kModelVariable));
    }
  }
  return folder;
}

// Fails now rather than after the work. A pipe is left alone: its reader would see it close.
void check_output(const std::string& path) {
  const std::filesystem::file_status status = std::filesystem::status(path);
  if (path.empty() || path == "-") return;
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    return;
  }
  const minilm::AtomicFile probe(path);
}

void check_outputs(const EmbedArguments& arguments) {
  if (!arguments.json.empty() && arguments.json == arguments.npy) {
    throw UsageError(fmt::format("--json and --npy both name '{}'.", arguments.json));
  }
  check_output(arguments.json);
  check_output(arguments.npy);
}

void write_outputs(const EmbedArguments& arguments, const std::vector<std::string>& sentences,
                   const std::vector<std::vector<std::uint32_t>>& ids,
                   const std::vector<minilm::Embedding>& embeddings) {
  if (!arguments.json.empty()) {
    std::vector<minilm::EmbeddedSentence> list(sentences.size());
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = {sentences[i], ids[i], embeddings[i]};
    minilm::write_json(arguments.json, list);
  }
  if (!arguments.npy.empty()) {
    std::vector<float> values;
    values.reserve(embeddings.size() * minilm::kHidden);
    for (const minilm::Embedding& e : embeddings) values.insert(values.end(), e.begin(), e.end());
    minilm::write_npy(arguments.npy, values, minilm::kHidden);
  }
}

int embed(const EmbedArguments& arguments) {
  // Options that cannot be meant come first, then files, then the device.
  static_cast<void>(arguments.runtime.connect_options());
  check_outputs(arguments);
  const std::vector<std::string> sentences = sentences_of(arguments);
  const std::filesystem::path folder = model_folder(arguments);
  const auto tokenizer = minilm::WordPiece::load(folder / "vocab.txt");
  std::vector<std::vector<std::uint32_t>> ids;
  ids.reserve(sentences.size());
  std::size_t tokens = 0;
  for (const std::string& sentence : sentences) {
    tokens += ids.emplace_back(tokenizer.encode(sentence)).size();
  }

  const Clock::time_point load_start = Clock::now();
  auto weights = std::make_unique<minilm::SafeTensors>(
      minilm::SafeTensors::open(folder / "model.safetensors"));
  Client client = arguments.runtime.connect();
  minilm::Embedder embedder(client, *weights);
  weights.reset();
  if (tokenizer.vocab_size() > embedder.vocab_size()) {
    throw minilm::InputError(fmt::format(
        "The vocabulary '{}' has {} tokens and the model's weights know {}.",
        (folder / "vocab.txt").string(), tokenizer.vocab_size(), embedder.vocab_size()));
  }
  const double load_seconds = seconds_since(load_start);

  std::vector<minilm::Embedding> embeddings;
  const Clock::time_point embed_start = Clock::now();
  {
    const Progress progress(sentences.size());
    embeddings =
        embedder.embed(ids, {.on_progress = [&](std::size_t done) { progress.show(done); }});
  }
  const double embed_seconds = seconds_since(embed_start);
  write_outputs(arguments, sentences, ids, embeddings);

  const Report report = client.report();
  const bool stdout_is_taken = arguments.json == "-" || arguments.npy == "-";
  std::FILE* const out = stdout_is_taken ? stderr : stdout;
  fmt::print(out, "runtime {} on {}, policy {}\n", report.runtime, report.adapter,
             name_of(arguments.runtime.policy));
  if (sentences.size() > 1 && sentences.size() <= kMaxTableSentences) {
    fmt::print(out, "\n{}\n", similarity_table(sentences, embeddings));
  }
  fmt::print(out, "{} {}, {} tokens: {:.3f} s, {:.0f} tokens/s ({:.3f} s before for the model)\n\n",
             sentences.size(), sentences.size() == 1 ? "sentence" : "sentences", tokens,
             embed_seconds, static_cast<double>(tokens) / embed_seconds, load_seconds);
  fmt::print(out, "{}", to_text(report));
  return kDone;
}

}  // namespace

void add_embed_command(CLI::App& app, std::function<int()>& chosen) {
  auto arguments = std::make_shared<EmbedArguments>();
  CLI::App* const command =
      app.add_subcommand("embed", "Turn sentences into vectors with all-MiniLM-L6-v2");
  arguments->runtime.add_to(*command);
  command
      ->add_option("--file", arguments->file, "Text, one sentence a line; - reads standard input")
      ->option_text("FILE|-");
  command->add_option("--json", arguments->json, "Write texts, token ids and embeddings")
      ->option_text("OUT|-");
  command->add_option("--npy", arguments->npy, "Write the embeddings as a NumPy array")
      ->option_text("OUT|-");
  command
      ->add_option("--model", arguments->model,
                   "Folder with model.safetensors and vocab.txt ($BERTH_MINILM_DIR)")
      ->option_text("DIR");
  command->add_option("SENTENCE", arguments->sentences, "Sentences")->option_text("...");
  command->callback([arguments, &chosen] {
    chosen = [arguments] { return exit_code_of([&] { return embed(*arguments); }); };
  });
}

}  // namespace berth::tools
