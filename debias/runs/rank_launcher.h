// Starts several processes of this program on this machine as ranks of one training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/process/stop_signals.h"
#include "debias/ranks/ranks.h"

namespace debias {

struct Launch {
  int64_t ranks = 1;
  std::vector<std::string> words;        // of the command line, without the program
  const StopSignals* signals = nullptr;  // passed on to all ranks
};

// The words of this process's command line.
std::vector<std::string> own_words();

// Starts the ranks, hosts their rendezvous store, waits for them, and ends the others if one fails. Rank 0 uses this process's standard
// output. Returns the exit code of rank 0; throws an error that names the rank and the cause if one fails. A single rank starts
// as an ordinary process.
int launch_ranks(const Launch& launch);

// Makes a process that the launcher started end when the launcher ends. No effect in other processes.
void end_with_launcher();

// The rank of this process, from the environment that torchrun, Open MPI's mpirun, SLURM's srun or rank_launcher.h sets.
struct RankArguments {
  std::string rendezvous, interface;  // --rendezvous, --interface
};

struct RankStart {
  Place place;
  Rendezvous rendezvous;
  bool is_restart = false;  // restarted by torchrun; the run resumes
};

// None if the environment describes a single process. Usage errors: one of two variables that belong together, an invalid rank, several
// processes without a rendezvous, or a rendezvous without other processes.
std::optional<RankStart> rank_start(const RankArguments& arguments);

}  // namespace debias
