// SPDX-License-Identifier: Apache-2.0
//
// Output goes through files without a name, so that no pipe can fill up.
#include "spawned_program.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

extern char** environ;

namespace berth::test {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

File temporary(const std::string& contents) {
  File file(std::tmpfile());
  if (file == nullptr) throw std::runtime_error("No temporary file.");
  std::fwrite(contents.data(), 1, contents.size(), file.get());
  std::fseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string contents_of(const File& file) {
  std::fseek(file.get(), 0, SEEK_SET);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
  }
  return text;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments, const std::string& input,
                    const std::vector<std::string>& environment) {
  const File in = temporary(input);
  const File out = temporary({});
  const File err = temporary({});
  std::vector<std::string> variables = environment;  // the first of a name counts
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(err.get()), STDERR_FILENO);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, arguments.at(0).c_str(), &actions, nullptr,
                                    pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error("Cannot run '" + arguments[0] + "'.");

  int status = 0;
  ::waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, contents_of(out), contents_of(err)};
}

}  // namespace berth::test
