// Trainings of several processes, to be disturbed in the middle.
#pragma once

#include <dirent.h>

#include "tests/apps/command.h"

namespace debias {

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
  for (const auto& entry : fs::directory_iterator("/proc")) {
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

inline int free_port() {
  static int next = 20000 + getpid() % 20000;
  return ++next;
}

}  // namespace debias
