#include "debias/process/interruption.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "debias/core/unfinished.h"
#include "debias/process/complaint_line.h"
#include "debias/process/stop_signals.h"

namespace debias {
namespace {

constexpr unsigned kSecondsToUnwind = 3;
constexpr const char* kAdvice = "; unfinished results are not kept: give the command again";

std::atomic<int> interrupted_by{0};
std::array<char, 41> interrupted_command{};

// In a handler: no memory, no streams.
[[noreturn]] void end_interrupted(int signal) {
  static std::atomic<bool> begun{false};
  if (begun.exchange(true)) _exit(128 + signal);
  remove_unfinished();
  std::array<char, 256> line{};
  size_t length = 0;
  for (const char* part :
       {"\ndebias: ", static_cast<const char*>(interrupted_command.data()), ": stopped by ", name_of_signal(signal), kAdvice, "\n"}) {
    const size_t count = std::min(std::strlen(part), line.size() - length);
    std::copy_n(part, count, line.begin() + static_cast<std::ptrdiff_t>(length));
    length += count;
  }
  static_cast<void>(!write(complaint_descriptor(), line.data(), length));
  _exit(128 + signal);
}

extern "C" void on_interruption(int signal) {
  if (interrupted_by.exchange(signal) != 0) end_interrupted(signal);
  alarm(kSecondsToUnwind);
}

extern "C" void on_time_to_unwind_over(int) { end_interrupted(interrupted_by.load()); }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption(const std::string& command, int signal)
    : Error(ErrorKind::kInterrupted, fmt::format("{}: stopped by {}{}", command, name_of_signal(signal), kAdvice)), exit_(128 + signal) {}

void watch_interruptions(const std::string& command) {
  std::copy_n(command.begin(), std::min(command.size(), interrupted_command.size() - 1), interrupted_command.begin());
  handle(SIGALRM, on_time_to_unwind_over);
  for (const int signal : {SIGINT, SIGTERM}) handle(signal, on_interruption);
  if (!ignores_signal(SIGHUP)) handle(SIGHUP, on_interruption);
}

void throw_if_interrupted() {
  const int signal = interrupted_by.load();
  if (signal == 0) return;
  alarm(0);  // removing what is unfinished may take its time
  throw Interruption(interrupted_command.data(), signal);
}

}  // namespace debias
