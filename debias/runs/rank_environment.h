// The rank of this process, from the environment that torchrun, Open MPI's mpirun, SLURM's srun or rank_launcher.h sets.
#pragma once

#include <optional>
#include <string>

#include "debias/ranks/ranks.h"

namespace debias {

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
