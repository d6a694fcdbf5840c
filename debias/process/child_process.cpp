#include "debias/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"

extern char** environ;

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

namespace {

bool took(int pipe, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(pipe, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

std::string text_in(int descriptor) {
  std::string text(static_cast<size_t>(std::max<off_t>(0, lseek(descriptor, 0, SEEK_END))), '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, pread(descriptor, text.data(), text.size(), 0))));
  return text;
}

}  // namespace

ProgramEnd run_program(std::vector<std::string> words, const std::vector<std::span<const uint8_t>>& input) {
  // A second pipe would have to be read while the first is written: each program could wait for the other.
  const Descriptor said(memfd_create("said", MFD_CLOEXEC));
  std::array<int, 2> ends = {-1, -1};
  const bool piped = said.value() >= 0 && pipe2(ends.data(), O_CLOEXEC) == 0;
  if (!piped) throw resource_error("starting {}: no pipe is available: {}", words[0], std::strerror(errno));
  Descriptor reads(ends[0]), writes(ends[1]);
  const std::vector<char*> pointers = pointers_to(words);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, reads.value(), STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_adddup2(&files, said.value(), output);
  pid_t process = 0;
  ProgramEnd end;
  end.not_started = posix_spawnp(&process, pointers[0], &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (end.not_started != 0) return end;
  reads.shut();
  end.took_input = std::all_of(input.begin(), input.end(), [&](const auto& piece) { return took(writes.value(), piece); });
  writes.shut();
  end.exit = exit_code_of(status_at_end(process));
  end.said = text_in(said.value());
  return end;
}

namespace {

std::optional<int> status_of(pid_t process, int options) {
  int status = 0;
  pid_t found = 0;
  do {
    found = waitpid(process, &status, options);
  } while (found < 0 && errno == EINTR);
  if (found < 0) throw std::system_error(errno, std::generic_category(), fmt::format("waiting for process {}", process));
  return found == 0 ? std::nullopt : std::optional(status);
}

}  // namespace

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::optional<int> status_if_ended(pid_t process) { return status_of(process, WNOHANG); }
int status_at_end(pid_t process) { return *status_of(process, 0); }

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace debias
