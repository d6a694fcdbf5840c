#include "debias/runs/rank_environment.h"

#include <array>
#include <cstdlib>

#include "debias/core/config.h"
#include "debias/core/error.h"

namespace debias {
namespace {

struct StarterVariables {
  const char *starter, *rank, *size, *local_rank;
  bool leaves_halves;  // sets one of the two for processes that are alone, too
};

constexpr std::array<StarterVariables, 3> kStarters = {{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", false},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
}};

std::string value_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

int64_t number_of(const char* variable, const std::string& text, int64_t least, int64_t most) {
  int64_t number = 0;
  if (parse_integer(text, &number) && number >= least && number <= most) return number;
  throw usage_error("{} is '{}', which is not a number from {} to {}", variable, text, least, most);
}

std::optional<Place> place_in(const StarterVariables& names) {
  const std::string rank = value_of(names.rank), size = value_of(names.size);
  if (rank.empty() && size.empty()) return std::nullopt;
  if (rank.empty() || size.empty()) {
    if (names.leaves_halves) return std::nullopt;
    throw usage_error("{} is set and {} is not; set both, as {} does, or neither", rank.empty() ? names.size : names.rank,
                      rank.empty() ? names.rank : names.size, names.starter);
  }
  Place place;
  place.size = number_of(names.size, size, 1, 1 << 20);
  place.rank = number_of(names.rank, rank, 0, place.size - 1);
  const std::string local_rank = value_of(names.local_rank);
  place.local_rank = local_rank.empty() ? -1 : number_of(names.local_rank, local_rank, 0, place.size - 1);
  return place;
}

void read_master(Rendezvous& rendezvous) {
  const std::string host = value_of("MASTER_ADDR"), port = value_of("MASTER_PORT");
  if (host.empty() && port.empty()) return;
  if (host.empty() || port.empty()) {
    throw usage_error("{} is set and {} is not; set both, or give --rendezvous HOST:PORT", host.empty() ? "MASTER_PORT" : "MASTER_ADDR",
                      host.empty() ? "MASTER_ADDR" : "MASTER_PORT");
  }
  rendezvous.host = host;
  rendezvous.port = static_cast<uint16_t>(number_of("MASTER_PORT", port, 1, 65535));
}

// --interface, else PyTorch's variable. NCCL gets the same, unless it is set already.
std::string network_interface(const std::string& given) {
  std::string interface = given.empty() ? value_of("GLOO_SOCKET_IFNAME") : given;
  if (!interface.empty()) setenv("NCCL_SOCKET_IFNAME", interface.c_str(), /*overwrite=*/0);
  return interface;
}

}  // namespace

std::optional<RankStart> rank_start(const RankArguments& arguments) {
  RankStart start;
  if (!arguments.rendezvous.empty()) read_rendezvous(arguments.rendezvous, start.rendezvous);
  for (const auto& names : kStarters) {
    const auto place = place_in(names);
    if (!place) continue;
    if (place->size == 1) return std::nullopt;
    start.place = *place;
    if (arguments.rendezvous.empty()) {
      // A batch script has the variables of the tasks that it may start, but is not one of them.
      if (names.leaves_halves && value_of("SLURM_STEP_NUM_TASKS").empty()) return std::nullopt;
      read_master(start.rendezvous);
    }
    if (start.rendezvous.host.empty() && start.rendezvous.file.empty()) {
      throw usage_error(
          "{} says that this is one of {} processes, but no rendezvous point is given; set MASTER_ADDR and MASTER_PORT to rank 0's machine "
          "and a free port there, or give --rendezvous HOST:PORT, or --rendezvous file:PATH in a shared folder",
          names.size, place->size);
    }
    start.rendezvous.interface = network_interface(arguments.interface);
    start.rendezvous.serves = place->rank == 0 && value_of("TORCHELASTIC_USE_AGENT_STORE") != "True";
    if (const std::string restart = value_of("TORCHELASTIC_RESTART_COUNT"); !restart.empty() && restart != "0") {
      start.rendezvous.round = restart;
      start.is_restart = true;
    }
    return start;
  }
  if (arguments.rendezvous.empty()) return std::nullopt;
  throw usage_error(
      "--rendezvous: the rank of this process is unknown; set RANK and WORLD_SIZE, start it by torchrun, mpirun or srun, or leave "
      "--rendezvous out");
}

}  // namespace debias
