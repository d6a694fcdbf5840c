// Processes in the background, to be signalled in the middle.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/process.h"

namespace debias {

// A process in the background that keeps what it says.
class Background {
 public:
  using Variables = std::map<std::string, std::string>;

  explicit Background(std::vector<std::string> words, const Variables& variables = {}) {
    std::vector<std::string> all = {"env"};
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
