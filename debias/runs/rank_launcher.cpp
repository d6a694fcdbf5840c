#include "debias/runs/rank_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/printable.h"
#include "debias/process/child_process.h"
#include "debias/process/terminal.h"

extern char** environ;

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::seconds kGrace{10};  // in which the others find out by themselves that one has failed

struct Child {
  pid_t process = 0;
  std::optional<int> status;  // of waitpid, once it has ended
  bool was_ended = false;     // by the launcher
};

// The end that the launcher reads, and the end that the ranks inherit.
std::array<Descriptor, 2> complaint_pipe(int64_t ranks) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_NONBLOCK) != 0) throw resource_error("starting {} ranks: no pipe is available", ranks);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFL, 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

class RankProcesses {
 public:
  explicit RankProcesses(const Launch& launch) : launch_(launch), complaints_(complaint_pipe(launch.ranks)) {
    if (launch.ranks > 1) meeting_ = std::make_unique<LocalMeeting>();
    for (int64_t rank = 0; rank < launch.ranks; ++rank) start(rank);
    complaints_[1].shut();
  }

  ~RankProcesses() {
    end_all();
    for (auto& child : children_) {
      if (!child.status) waitpid(child.process, nullptr, 0);
    }
  }

  int wait() {
    std::optional<Clock::time_point> failed_at;
    for (int forwarded = 0; left() > 0; std::this_thread::sleep_for(kLook)) {
      const int signal = launch_.signals == nullptr ? 0 : launch_.signals->received.load();
      if (signal != 0 && forwarded == 0) {
        forwarded = signal;
        for (const auto& child : children_) {
          if (!child.status) kill(child.process, signal);
        }
      }
      reap();
      listen();
      if (!failed_at && first_failed_) failed_at = Clock::now();
      if (failed_at && Clock::now() - *failed_at > kGrace) end_all();
    }
    listen();
    return outcome();
  }

 private:
  void start(int64_t rank) {
    std::vector<std::string> words = launch_.words, variables = environment_of(rank);
    words.insert(words.begin(), "debias");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rank > 0) posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // a terminal's Ctrl-C comes to the launcher, which passes it on once
    posix_spawnattr_setpgroup(&attributes, 0);
    Child child;
    const int failure =
        posix_spawn(&child.process, "/proc/self/exe", &files, &attributes, pointers_to(words).data(), pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failure != 0) {
      end_all();
      throw resource_error("starting rank {} of {}: {}; start fewer, or raise the limit of processes (ulimit -u)", rank, launch_.ranks,
                           std::strerror(failure));
    }
    children_.push_back(child);
  }

  std::vector<std::string> environment_of(int64_t rank) const {
    std::map<std::string, std::string> own = {{kLauncherVariable, std::to_string(complaints_[1].value())}};
    if (launch_.ranks > 1) {
      own["RANK"] = own["LOCAL_RANK"] = std::to_string(rank);
      own["WORLD_SIZE"] = own["LOCAL_WORLD_SIZE"] = std::to_string(launch_.ranks);
      own["MASTER_ADDR"] = "127.0.0.1";
      own["MASTER_PORT"] = std::to_string(meeting_->port());
      own["TORCHELASTIC_USE_AGENT_STORE"] = "True";
    }
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (own.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
    }
    for (const auto& [name, value] : own) all.push_back(name + "=" + value);
    return all;
  }

  int64_t left() const {
    return std::count_if(children_.begin(), children_.end(), [](const Child& child) { return !child.status; });
  }

  void reap() {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      Child& child = children_[rank];
      if (child.status) continue;
      child.status = status_if_ended(child.process);
      if (child.status.value_or(0) != 0 && !first_failed_) first_failed_ = rank;
    }
  }

  // Those that wait for one that will not come, or are stopped. Files are written whole or not at all.
  void end_all() {
    for (auto& child : children_) {
      if (child.status) continue;
      child.was_ended = true;
      kill(child.process, SIGKILL);
    }
  }

  void listen() {
    char text[4096];
    for (ssize_t count = 0; (count = read(complaints_[0].value(), text, sizeof text)) > 0;) heard_.append(text, static_cast<size_t>(count));
  }

  int outcome() const {
    if (!first_failed_) return 0;
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      const int status = *children_[rank].status;
      if (!WIFSIGNALED(status) || children_[rank].was_ended) continue;
      throw resource_error("rank {} of {} was ended by signal {} ({}); the last checkpoint is intact: continue with --resume", rank,
                           launch_.ranks, WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    const std::string line = first_line(heard_.substr(std::min(heard_.find_first_not_of('\n'), heard_.size())));
    if (!line.empty()) write_complaint(line);
    return exit_code_of(*children_[*first_failed_].status);
  }

  const Launch& launch_;
  std::array<Descriptor, 2> complaints_;
  std::unique_ptr<LocalMeeting> meeting_;
  std::vector<Child> children_;
  std::optional<size_t> first_failed_;
  std::string heard_;  // the ranks' error messages, a line each
};

}  // namespace

std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

int launch_ranks(const Launch& launch) { return RankProcesses(launch).wait(); }

void end_with_launcher() {
  if (is_launched()) prctl(PR_SET_PDEATHSIG, SIGTERM);
}

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
