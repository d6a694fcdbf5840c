// `debias` as a process of its own, started by debias.
//
// It has a process group of its own, so that a Ctrl-C of the terminal reaches the parent alone, which passes it on once; it is killed where
// the parent is, so that nothing trains in a folder that the next sweep takes up.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace debias {

class ChildProcess {
 public:
  // `arguments` begin with the command. Both outputs are appended to the file `log`. `cpus`: the processors it may use; empty: all.
  static ChildProcess start(const std::vector<std::string>& arguments, const std::string& log, const std::vector<int>& cpus);

  // The exit code once it has ended, 128 + the number of a signal that ended it.
  std::optional<int> ended();
  void signal(int number) const;

 private:
  explicit ChildProcess(pid_t process) : process_(process) {}
  pid_t process_;
};

// Processors of job `number` of `jobs` that share this process's processors evenly; empty, all, for one job.
std::vector<int> share_of_cpus(int number, int jobs);

}  // namespace debias
