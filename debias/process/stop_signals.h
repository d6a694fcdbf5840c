// Signals that ask training to stop: SIGTERM, SIGINT, SIGHUP (unless it is ignored, as under nohup), SIGXCPU and SIGUSR1.
//
// Before training begins, and while everything that was trained is on disk, the first of them ends the process at once with exit code 75.
// Otherwise it is remembered
// for the training loop, which saves and then stops; a second one (not SIGUSR1) ends the process with 128 + its number. SIGPIPE is ignored.
#pragma once

#include <atomic>
#include <string>

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

}  // namespace debias
