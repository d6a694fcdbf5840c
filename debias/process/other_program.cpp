#include "debias/process/other_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "debias/core/descriptor.h"
#include "debias/core/error.h"
#include "debias/process/started_process.h"

extern char** environ;

namespace debias {
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

}  // namespace debias
