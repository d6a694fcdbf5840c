// Processes that this one starts: their arguments, and how they ended.
//
// SIGCHLD must not be ignored, or the system keeps no end of theirs: main() sees to that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace debias {

// Arguments as exec() takes them; they must not change.
std::vector<char*> pointers_to(std::vector<std::string>& words);

// waitpid()'s status of a process that has ended: of one that may run still, and of one that is waited for.
std::optional<int> status_if_ended(pid_t process);
int status_at_end(pid_t process);

// Exit code of such a status, or 128 + the number of the signal that ended it.
int exit_code_of(int status);

}  // namespace debias
