#include "debias/process/stop_signals.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "debias/core/atomic_file.h"
#include "debias/process/terminal.h"

namespace debias {
namespace {

constexpr int kResumable = 75;

StopSignals stop_signals;
int messages = STDERR_FILENO;
std::array<char, 64> process_name{};  // with ": "
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// In one piece: other ranks may write to the same pipe. In a handler, which has no memory to be had.
void say(std::initializer_list<const char*> parts) {
  std::array<char, 256> line;
  size_t length = 0;
  for (const char* part : parts) {
    const size_t count = std::min(std::strlen(part), line.size() - length);
    std::copy_n(part, count, line.begin() + length);
    length += count;
  }
  const ssize_t written = write(messages, line.data(), length);
  static_cast<void>(written);
}

extern "C" void on_stop_signal(int signal) {
  if (stop_signals.all_saved.load()) {
    say({"\ndebias: ", process_name.data(), "stopped by ", name_of_signal(signal),
         stop_signals.begun.load() ? " with all that was trained on disk; continue with --resume\n"
                                   : " before training began; start it again\n"});
    _exit(kResumable);
  }
  if (stop_signals.received.exchange(signal) != 0 && signal != SIGUSR1) _exit(128 + signal);
}

}  // namespace

const char* name_of_signal(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    case SIGXCPU:
      return "SIGXCPU";
    default:
      return "SIGUSR1";
  }
}

bool ignores_signal(int signal) {
  struct sigaction present {};
  return sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

void name_stopped_process(const std::string& name) {
  const std::string text = name.substr(0, 60) + ": ";
  std::copy(text.begin(), text.end(), process_name.begin());
}

StopSignals& watch_stop_signals() {
  messages = complaint_descriptor();
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU}) sigaction(signal, &action, nullptr);
  if (!ignores_signal(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  return stop_signals;
}

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
