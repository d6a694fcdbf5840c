#include "debias/process/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/process/started_process.h"

namespace debias {
namespace {

constexpr int kNotStarted = 127;

cpu_set_t set_of(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

// Between fork and exec: system calls only.
[[noreturn]] void become(char* const* words, const char* log, const cpu_set_t* cpus, pid_t parent, const sigset_t* before) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);  // it ended before that
  if (cpus != nullptr) sched_setaffinity(0, sizeof *cpus, cpus);
  const int none = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (none < 0 || out < 0) _exit(kNotStarted);
  dup2(none, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU}) std::signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, before, nullptr);
  execv("/proc/self/exe", words);
  _exit(kNotStarted);
}

}  // namespace

ChildProcess ChildProcess::start(const std::vector<std::string>& arguments, const std::string& log, const std::vector<int>& cpus) {
  std::vector<std::string> words = {"debias"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = pointers_to(words);
  const cpu_set_t set = set_of(cpus);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // a signal must not meet this process's handlers in the child
  const pid_t parent = getpid(), process = fork();
  if (process == 0) become(pointers.data(), log.c_str(), cpus.empty() ? nullptr : &set, parent, &before);
  const int failure = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (process < 0) throw resource_error("starting a run: {}; try fewer --jobs", std::strerror(failure));
  return ChildProcess(process);
}

std::optional<int> ChildProcess::ended() {
  const auto status = status_if_ended(process_);
  return status ? std::optional(exit_code_of(*status)) : std::nullopt;
}

void ChildProcess::signal(int number) const { kill(process_, number); }

std::vector<int> share_of_cpus(int number, int jobs) {
  if (jobs < 2) return {};
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> allowed, share;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
  }
  const auto have = static_cast<int>(allowed.size()), each = std::max(1, std::min(have, available_cpus()) / jobs);
  for (int i = 0; i < each; ++i) share.push_back(allowed[static_cast<size_t>((number * each + i) % have)]);
  return share;
}

}  // namespace debias
