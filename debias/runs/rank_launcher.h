// Several processes of this program on this machine, as ranks of one training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/process/stop_signals.h"

namespace debias {

struct Launch {
  int64_t ranks = 1;
  std::vector<std::string> words;        // of the command line, after the program
  const StopSignals* signals = nullptr;  // passed on to all ranks
};

// The words of this process' own command line.
std::vector<std::string> own_words();

// Starts the ranks, hosts the store at which they meet, waits for them, and ends the rest when one has failed. Rank 0 has this process'
// standard output; its exit code when all end well, else an error that names the rank and the cause. One rank alone is started plainly.
int launch_ranks(const Launch& launch);

// In a process that was started so: to end when the launcher is gone. Elsewhere nothing.
void end_with_launcher();

}  // namespace debias
