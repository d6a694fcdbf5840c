// Runs a command and keeps all it says.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/file_text.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace debias {

struct ProcessResult {
  int exit = -1;  // the exit code; 128 + signal when a signal ended it; 127 when it could not start
  std::string out, err;
};

inline size_t times(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// `words` and more behind them.
inline std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The command under test: DEBIAS_BINARY, or where `make build` leaves it.
inline std::string debias_binary() {
  const char* given = std::getenv("DEBIAS_BINARY");
  return given != nullptr && *given != '\0' ? given : "build/release/bin/debias";
}

// Of a child, once it has ended: the exit code, or 128 + the number of a signal that ended it.
inline int exit_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The words that run `words` where SIGCHLD is ignored, which a program inherits from what starts it.
inline std::vector<std::string> ignoring_sigchld(const std::vector<std::string>& words) {
  return with({"env", "--ignore-signal=CHLD"}, words);
}

// `words` are the program and its arguments; no shell is involved.
inline ProcessResult run(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {127, "", "cannot start " + words[0]};
  const int exit = exit_of(child);
  return {exit, file_text(out), file_text(err)};
}

// The same for `debias ARGUMENTS...`.
inline ProcessResult run_debias(const std::vector<std::string>& arguments) { return run(with({debias_binary()}, arguments)); }

}  // namespace debias
