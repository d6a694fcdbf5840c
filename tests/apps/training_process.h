// A training run as a process of its own, to be signalled in the middle.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace debias {

class TrainingProcess {
 public:
  TrainingProcess(const std::string& binary, const std::vector<std::string>& arguments) {
    std::vector<char*> words = {const_cast<char*>(binary.c_str())};
    for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    const int sink = open("/dev/null", O_WRONLY);
    dup2(sink, STDOUT_FILENO);
    dup2(sink, STDERR_FILENO);
    execv(binary.c_str(), words.data());
    _exit(127);
  }

  pid_t id() const { return process_; }

  void signal(int number) const { kill(process_, number); }

  int wait() const { return exit_of(process_); }

 private:
  pid_t process_ = 0;
};

}  // namespace debias
