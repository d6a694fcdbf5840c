// Ctrl-C in a command that has no checkpoint to write: one sentence, and exit code 128 + the signal's number (130 for SIGINT).
//
// The first SIGINT, SIGTERM or SIGHUP is remembered, and the next report of progress (terminal.h) throws Interruption, so that unfinished
// files are removed. If no report comes within three seconds, or at a second signal, the handler removes them (unfinished.h) and ends the
// process; a signal meanwhile ends it at once. SIGHUP stays ignored if it is ignored, as under nohup. Training has handlers of its own
// (stop_signals.h), which replace these.
#pragma once

#include <string>

#include "debias/core/error.h"

namespace debias {

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
