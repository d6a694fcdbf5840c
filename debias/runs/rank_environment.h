// Which of several processes this one is, as its environment says: what torchrun, Open MPI's mpirun and SLURM's srun set, and what
// rank_launcher.h sets for the processes that it starts.
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
  bool is_restart = false;  // torchrun's: the run resumes where it was
};

// None where the environment names no other process. Usage errors: of two variables that belong together one is set, a rank that is none,
// no place to meet, or one and nobody to be met.
std::optional<RankStart> rank_start(const RankArguments& arguments);

}  // namespace debias
