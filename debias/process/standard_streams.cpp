#include "debias/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace debias {

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Open for reading alone, so that a result that is written there does not pass for written.
    if (open("/dev/null", O_RDONLY) != descriptor) std::_Exit(EXIT_FAILURE);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_message(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  static_cast<void>(written);
  std::fflush(stderr);
}

int unwritten_results() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return 0;
  const bool passed = errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1;  // an earlier write failed: does it still, and why?
  return passed ? EIO : errno;
}

}  // namespace debias
