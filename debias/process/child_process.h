// `debias` as a process of its own, started by debias.
//
// It has a process group of its own, so that a Ctrl-C of the terminal reaches the parent alone, which passes it on once; it is killed where
// the parent is, so that nothing trains in a folder that the next sweep takes up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
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

// Another program, started, fed and waited for.
struct ProgramEnd {
  int not_started = 0;     // the error number where it could not be started: nothing else is known then
  int exit = 0;            // 128 + the number of a signal that ended it
  bool took_input = true;  // all of it
  std::string said;        // on standard output and standard error
};

// words[0] is looked for on PATH. `input` is what it reads from standard input, piece after piece; it may end without reading that, so SIGPIPE
// has to be ignored (terminal.h). A resource error where no pipe can be had.
ProgramEnd run_program(std::vector<std::string> words, const std::vector<std::span<const uint8_t>>& input = {});

// Processes that this one starts: their arguments, and how they ended.
//
// SIGCHLD must not be ignored, or the system keeps no end of theirs: main() sees to that.

// Arguments as exec() takes them; they must not change.
std::vector<char*> pointers_to(std::vector<std::string>& words);

// waitpid()'s status of a process that has ended: of one that may run still, and of one that is waited for.
std::optional<int> status_if_ended(pid_t process);
int status_at_end(pid_t process);

// Exit code of such a status, or 128 + the number of the signal that ended it.
int exit_code_of(int status);

}  // namespace debias
