#include "debias/process/started_process.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>

namespace debias {
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
