// Signals that ask training to stop: SIGTERM, SIGINT, SIGHUP (unless it is ignored, as under nohup), SIGXCPU and SIGUSR1.
//
// While everything that was trained is on disk, the first of them ends the process at once with exit code 75. Otherwise it is remembered
// for the training loop, which saves and then stops; a second one (not SIGUSR1) ends the process with 128 + its number. SIGPIPE is ignored.
#pragma once

#include <atomic>

namespace debias {

struct StopSignals {
  std::atomic<int> received{0};  // the first that was not obeyed at once
  std::atomic<bool> all_saved{true};
};

// Installs the handlers; to be called once.
StopSignals& watch_stop_signals();

}  // namespace debias
