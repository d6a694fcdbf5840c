// Signals that ask training to stop: SIGTERM, SIGINT, SIGHUP (unless it is ignored, as under nohup), SIGXCPU and SIGUSR1.
//
// Before training begins, and while everything that was trained is on disk, the first of them ends the process at once with exit code 75.
// Otherwise it is remembered
// for the training loop, which saves and then stops; a second one (not SIGUSR1) ends the process with 128 + its number. SIGPIPE is ignored.
#pragma once

#include <atomic>
#include <string>

#include "debias/core/error.h"

namespace debias {

struct StopSignals {
  std::atomic<int> received{0};  // the first that was not obeyed at once
  std::atomic<bool> all_saved{true};
  std::atomic<bool> begun{false};  // there is a run to resume
};

// Installs the handlers; to be called once.
StopSignals& watch_stop_signals();

// "rank 1 of 4", for the message of a process that ends at once; at most 60 letters.
void name_stopped_process(const std::string& name);

const char* name_of_signal(int signal);

bool ignores_signal(int signal);

// Ctrl-C in a command that has no checkpoint to write: one sentence, and exit code 128 + the signal's number (130 for SIGINT).
//
// The first SIGINT, SIGTERM or SIGHUP is remembered, and the next report of progress (terminal.h) throws Interruption, so that unfinished
// files are removed. If no report comes within three seconds, or at a second signal, the handler removes them (atomic_file.h) and ends the
// process; a signal meanwhile ends it at once. SIGHUP stays ignored if it is ignored, as under nohup. Training has handlers of its own
// (stop_signals.h), which replace these.
class Interruption : public Error {
 public:
  Interruption(const std::string& command, int signal);
  int exit() const { return exit_; }

 private:
  int exit_;
};

// `command`: as typed, "data make"; of 40 letters at most.
void watch_interruptions(const std::string& command);

// Throws Interruption once a signal has come. Thread-safe.
void throw_if_interrupted();

}  // namespace debias
