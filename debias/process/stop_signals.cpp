#include "debias/process/stop_signals.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "debias/process/complaint_line.h"

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

}  // namespace debias
