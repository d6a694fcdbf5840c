// Runs the command and keeps all it says: what its tests start from.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "tests/support/expect_parts.h"
#include "tests/support/file_text.h"
#include "tests/support/golden_folder.h"
#include "tests/support/in_folder.h"
#include "tests/support/small_recipe.h"

extern char** environ;

namespace debias {

namespace fs = std::filesystem;
using nlohmann::json;
using Json = nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

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
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The command under test: DEBIAS_BINARY, or where `make build` leaves it; whole, as tests go into folders of their own.
inline const std::string kBinary = [] {
  const char* given = std::getenv("DEBIAS_BINARY");
  return fs::absolute(given != nullptr && *given != '\0' ? given : "build/release/bin/debias").string();
}();

// Of a child, once it has ended: the exit code, or 128 + the number of a signal that ended it.
inline int exit_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The words that run `words` where SIGCHLD is ignored, which a program inherits from what starts it.
inline Words ignoring_sigchld(const Words& words) { return with({"env", "--ignore-signal=CHLD"}, words); }

// `words` are the program and its arguments; no shell is involved.
inline ProcessResult run(const Words& words) {
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
inline ProcessResult run_debias(const Words& arguments) { return run(with({kBinary}, arguments)); }

// What a command that must succeed says.
inline ProcessResult done(const Words& arguments) {
  ProcessResult result = run_debias(arguments);
  EXPECT_EQ(result.exit, 0) << testing::PrintToString(arguments) << "\n" << result.err;
  return result;
}
inline json json_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}
inline json json_in(const std::string& file) { return json::parse(file_text(file), nullptr, false); }

// One line of complaint, at the end.
inline void expect_complaint(const ProcessResult& result, int exit, const std::string& part) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_EQ(times("debias: ", result.err), 1u) << result.err;
  const size_t begin = result.err.find("debias: ");
  EXPECT_THAT(begin == std::string::npos ? "" : result.err.substr(begin), HasSubstr(part));
}
// One line, and no other.
inline void expect_one_line(const ProcessResult& result, int exit, const std::string& part) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
  EXPECT_EQ(times("\n", result.err), 1u) << result.err;
}
// One line, and no result.
inline void expect_refused(const ProcessResult& result, int exit, const std::string& part) {
  expect_one_line(result, exit, part);
  EXPECT_EQ(result.out, "");
}

// The page that `debias report` writes of these runs to `file`.
inline std::string page_of(const Words& runs, const std::string& file) {
  done(with(with({"report"}, runs), {"--out", file}));
  return file_text(file);
}

// The names and bytes of the tensors of a checkpoint, of all unless `is_wanted` says which; its header has the run's name.
inline std::string tensor_bytes(const std::string& checkpoint, bool (*is_wanted)(const std::string& name) = nullptr) {
  std::string bytes;
  const auto file = SafetensorsFile::open(checkpoint);
  for (const auto& entry : file.tensors()) {
    if (is_wanted != nullptr && !is_wanted(entry.name)) continue;
    std::string tensor(entry.end - entry.begin, '\0');
    file.read(entry, tensor.data());
    bytes += entry.name + tensor;
  }
  return bytes;
}
// Everything that a run must reproduce: metric files and each tensor of the last checkpoint.
inline std::string trace_of(const std::string& run) {
  return file_text(run + "/metrics.jsonl") + file_text(run + "/metrics.csv") + tensor_bytes(run + "/checkpoints/last.safetensors");
}

// A process in the background that keeps what it says, to be signalled in the middle.
class Background {
 public:
  using Variables = std::map<std::string, std::string>;

  explicit Background(const Words& words, const Variables& variables = {}) {
    Words all = {"env"};
    for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    for (auto& word : all) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const std::string out = folder_ / "out", err = folder_ / "err";
    process_ = fork();
    if (process_ != 0) return;
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execvp("env", pointers.data());
    _exit(127);
  }
  ~Background() {
    if (!waited_) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }

  pid_t id() const { return process_; }
  void signal(int number) const { kill(process_, number); }
  std::string err() const { return file_text(folder_ / "err"); }

  ProcessResult wait() {
    const int exit = exit_of(process_);
    waited_ = true;
    return {exit, file_text(folder_ / "out"), err()};
  }

 private:
  TemporaryFolder folder_;
  pid_t process_ = 0;
  bool waited_ = false;
};

// Whether `holds` within a minute.
template <class Holds>
bool soon(const Holds& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace debias
