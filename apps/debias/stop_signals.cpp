#include "apps/debias/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "apps/debias/complaint.h"

namespace debias {
namespace {

constexpr int kResumable = 75;

StopSignals stop_signals;
int messages = STDERR_FILENO;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

const char* name_of(int signal) {
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

void say(const char* text) {
  const ssize_t written = write(messages, text, std::strlen(text));
  static_cast<void>(written);
}

extern "C" void on_stop_signal(int signal) {
  if (stop_signals.all_saved.load()) {
    say("\ndebias: stopped by ");
    say(name_of(signal));
    say(" with all that was trained on disk; go on with --resume\n");
    _exit(kResumable);
  }
  if (stop_signals.received.exchange(signal) != 0 && signal != SIGUSR1) _exit(128 + signal);
}

bool is_ignored(int signal) {
  struct sigaction present {};
  return sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals& watch_stop_signals() {
  messages = complaint_descriptor();
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU}) sigaction(signal, &action, nullptr);
  if (!is_ignored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  return stop_signals;
}

}  // namespace debias
