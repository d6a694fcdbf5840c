// Trainings of several processes, to be disturbed in the middle.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
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

inline std::map<std::string, std::string> environment_of_process(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  std::map<std::string, std::string> variables;
  for (std::string entry; std::getline(file, entry, '\0');) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return variables;
}

// The process of a rank that `launcher` started; 0 where there is none.
inline pid_t process_of_rank(pid_t launcher, int rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path().string() + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos || std::atoi(text.c_str() + end + 4) != launcher) continue;
    const pid_t process = std::atoi(name.c_str());
    if (environment_of_process(process)["RANK"] == std::to_string(rank)) return process;
  }
  return 0;
}

// Whether `holds` within a minute.
template <class Holds>
bool soon(const Holds& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline int free_port() {
  static int next = 20000 + getpid() % 20000;
  return ++next;
}

}  // namespace debias
