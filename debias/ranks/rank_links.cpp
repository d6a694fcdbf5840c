#include "debias/ranks/rank_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <climits>
#include <ctime>
#include <fstream>
#include <future>
#include <numeric>
#include <thread>
#include <utility>

#include "debias/core/printable.h"
#include "debias/ranks/store.h"

namespace debias {
namespace {

using std::chrono::milliseconds;
using Gloo = RankLinks::Gloo;

constexpr milliseconds kBeat{500}, kBeatInFile{2000};  // a file keeps every beat
constexpr int64_t kBeatsOfLife = 3;                    // that a rank gives while another gives none, which is then lost
constexpr std::chrono::seconds kPatienceToAbort{10};
constexpr milliseconds kShort{1};                // exchanges that end within this are not slept through
constexpr std::chrono::microseconds kPause{50};  // between looks at a longer one
constexpr std::array<const char*, RankLinks::kChannels> kChannelNames = {"rows", "statistics", "sums"};

bool is_this_machine(const std::string& host) { return host == "localhost" || host.starts_with("127."); }

// Two of one name differ in their kernels' starts.
std::string this_machine() {
  char name[HOST_NAME_MAX + 1] = {};
  static_cast<void>(gethostname(name, sizeof name - 1));
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string start;
  std::getline(file, start);
  return fmt::format("{} {}", name, start);
}

std::string named(const std::vector<int64_t>& ranks, int64_t size) {
  if (ranks.size() == 1) return fmt::format("rank {} of {}", ranks.front(), size);
  return fmt::format("ranks {} of {}", fmt::join(ranks, ", "), size);
}

// True if the name of this machine leads to addresses that no other machine reaches, or to none.
bool name_is_loopback() {
  char name[HOST_NAME_MAX + 1] = {};
  addrinfo* addresses = nullptr;
  if (gethostname(name, sizeof name - 1) != 0 || getaddrinfo(name, nullptr, nullptr, &addresses) != 0) return true;
  bool all = true;
  for (const addrinfo* one = addresses; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET) {
      all = all && ntohl(reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr.s_addr) >> 24 == 127;
    } else if (one->ai_family == AF_INET6) {
      all = all && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr) != 0;
    }
  }
  freeaddrinfo(addresses);
  return all;
}

std::shared_ptr<::gloo::transport::Device> device_of(const Rendezvous& rendezvous, bool several_machines) {
  if (!rendezvous.interface.empty()) {
    try {
      return Gloo::createDeviceForInterface(rendezvous.interface);
    } catch (const std::exception&) {
      throw usage_error("--interface: '{}' is not a network interface of this machine with an address; see `ip address`",
                        rendezvous.interface);
    }
  }
  if (rendezvous.threads != nullptr) return Gloo::createDeviceForHostname("127.0.0.1");
  const bool meets_here = is_this_machine(rendezvous.host);
  if (several_machines && (meets_here || name_is_loopback())) {
    throw usage_error("--interface: ranks on other machines cannot reach {}, a loopback address; name a network, such as --interface eth0",
                      meets_here ? "'" + rendezvous.host + "'" : "this machine by its name");
  }
  return meets_here ? Gloo::createDeviceForHostname("127.0.0.1") : Gloo::createDefaultDevice();
}

}  // namespace

std::string RankLinks::key_of(const char* what, int64_t number) { return fmt::format("{}/{}", what, number); }

RankLost RankLinks::reported(const RankFailure& failure, int64_t size) {
  return RankLost(failure.kind, fmt::format("rank {} of {}: {}", failure.rank, size, failure.text));
}

double RankLinks::cpu_seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

RankLinks::RankLinks(const Place& where, const Rendezvous& meeting)
    : place(where), rendezvous(meeting), beat(meeting.file.empty() ? kBeat : kBeatInFile), store(open_store(meeting, where)) {
  if (rendezvous.devices == nullptr) rendezvous.devices = nccl_groups();
  try {
    meet();
    find_neighbours();
    connect();
    await_connected();
    set_patience(rendezvous.step);
    have_met = true;
  } catch (const RankLost&) {
    leave();
    throw;
  } catch (const Error& error) {
    tell(error);
    leave();
    throw reported({place.rank, error.kind(), error.what()}, place.size);
  } catch (const std::exception& error) {  // the process that has the store is gone
    const RankLost gone = lost("meeting the other processes", error.what());
    leave();
    throw gone;
  }
}

// The others wait for this one.
void RankLinks::tell(const Error& error) {
  try {
    put_first(*store, kFailureKey, failure_text({place.rank, error.kind(), error.what()}));
  } catch (const std::exception&) {  // the process that has the store is gone
  }
}

// Threads have one store among them, of which each question is answered.
void RankLinks::set_patience(milliseconds patience) {
  if (rendezvous.threads == nullptr) store->setTimeout(patience);
}

void RankLinks::meet() {
  if (store->add(key_of("joined", place.rank), 1) > 1) {
    throw usage_error("rendezvous: rank {} has come already: two processes have one rank, or {}", place.rank,
                      rendezvous.file.empty() ? "another training meets at the same port"
                                              : fmt::format("'{}' is of an earlier run; remove it, or name a new file", rendezvous.file));
  }
  if (place.rank == 0) put(*store, "size", std::to_string(place.size));
  beats = std::make_unique<RankBeats>(store, key_of("beats", place.rank), beat);
  await_all("joined");
  put(*store, key_of("host", place.rank), rendezvous.machine.empty() ? this_machine() : rendezvous.machine);
  put(*store, key_of("ready", place.rank), "");
  await_all("ready");
}

// The ranks of one machine, in their order: what no variable says of them.
void RankLinks::find_neighbours() {
  const auto host_of = [this](int64_t rank) { return find(*store, key_of("host", rank)).value_or(""); };
  const std::string own = host_of(place.rank);
  int64_t before = 0;
  place.local_size = 0;
  for (int64_t rank = 0; rank < place.size; ++rank) {
    if (host_of(rank) != own) continue;
    ++place.local_size;
    if (rank < place.rank) ++before;
  }
  if (place.local_rank < 0) place.local_rank = before;
}

RankLinks::~RankLinks() { leave(); }

void RankLinks::leave() {
  beats.reset();
  leave_devices();
  try {
    put(*store, key_of("left", place.rank), "");
    if (rendezvous.serves) await_leaving();
  } catch (const std::exception&) {  // the process that has the store is gone
  }
}

// What others still read of this rank's device has to stay until they have.
void RankLinks::leave_devices() {
  if (device_groups.front() == nullptr) return;
  try {
    put(*store, key_of("done", place.rank), "");
    Nap nap;
    for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end; nap.take()) {
      if (those_without("done").empty() || read_failure(*store)) break;
    }
  } catch (const std::exception&) {  // the process that has the store is gone
  }
  end_device_groups();
}

void RankLinks::await_all(const char* what) {
  std::vector<int64_t> missing;
  Nap nap;
  for (const auto end = Clock::now() + rendezvous.setup; Clock::now() < end; nap.take()) {
    if (const auto failure = read_failure(*store)) throw reported(*failure, place.size);
    require_one_size();
    missing = those_without(what);
    if (missing.empty()) return;
  }
  throw resource_error("rendezvous: {} did not come within {} s; start it, or correct the number of processes", named(missing, place.size),
                       rendezvous.setup.count() / 1000);
}

void RankLinks::require_one_size() const {
  const std::string size = find(*store, "size").value_or("");
  if (size.empty() || size == std::to_string(place.size)) return;
  throw usage_error("rendezvous: this is one of {} processes, rank 0 one of {}; start all with one number", place.size, size);
}

std::vector<int64_t> RankLinks::those_without(const char* what) const {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < place.size; ++rank) {
    if (!store->check({key_of(what, rank)})) ranks.push_back(rank);
  }
  return ranks;
}

void RankLinks::connect() {
  const auto device = device_of(rendezvous, place.local_size < place.size);
  for (size_t i = 0; i < kChannels; ++i) {
    auto options = Gloo::Options::create(rendezvous.step);
    options->threads = 1;
    options->devices = {device};
    try {
      groups[i] = c10::make_intrusive<Gloo>(c10::make_intrusive<c10d::PrefixStore>(kChannelNames[i], store), static_cast<int>(place.rank),
                                            static_cast<int>(place.size), options);
    } catch (const std::exception& error) {
      throw not_connected(error.what());
    }
  }
}

// A group of devices may wait for ever for a rank that has failed, in a thread that is then left behind, as are the connection to the store
// that it waits on and the groups.
void RankLinks::connect_devices(const c10::Device& own) {
  device_groups =
      within(rendezvous.setup, [kind = rendezvous.devices, keys = store->clone(), where = place, own, timeout = rendezvous.step] {
        std::array<GroupPointer, kChannels> made;
        for (size_t i = 0; i < kChannels; ++i) {
          made[i] =
              kind->connect(c10::make_intrusive<c10d::PrefixStore>(fmt::format("device/{}", kChannelNames[i]), keys), where, own, timeout);
        }
        return made;
      });
}

// All at once: NCCL's abort of one communicator may wait for the others of its process.
void RankLinks::end_device_groups() {
  const auto ended = std::exchange(device_groups, {});
  try {
    within(kPatienceToAbort, [ended] {
      std::vector<std::future<void>> aborts;
      for (const auto& group : ended) {
        if (group != nullptr) aborts.push_back(std::async(std::launch::async, [group] { group->abort(); }));
      }
    });
  } catch (const std::exception&) {  // they are left behind with their threads
  }
}

// A device does not notice a rank that has gone, and would wait for it for ever: so the host looks at the others meanwhile.
void RankLinks::await_device(c10d::Work& work) {
  const auto begin = Clock::now();
  auto looked = begin;
  std::vector<Heard> heard(place.size, {-1, begin});
  while (!work.isCompleted()) {
    const auto now = Clock::now();
    if (now - begin > rendezvous.step) throw std::runtime_error(fmt::format("no end within {} s", rendezvous.step.count() / 1000));
    if (now - looked > kBeatsOfLife * beat) {
      look_at_others(heard);
      looked = now;
    }
    if (now - begin < kShort) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  take_result(work);
}

void RankLinks::look_at_others(std::vector<Heard>& heard) {
  if (read_failure(*store)) throw std::runtime_error("another rank failed");
  const std::vector<int64_t> counts = beats_of_all();
  for (int64_t rank = 0; rank < place.size; ++rank) {
    if (counts[rank] != heard[rank].beats) heard[rank] = {counts[rank], Clock::now()};
    const bool is_silent = rank != place.rank && Clock::now() - heard[rank].at > kLookAround * beat;
    if (is_silent && is_cut_off(rank)) throw std::runtime_error(fmt::format("rank {} is gone", rank));
  }
}

// What is sent to a process that is stopped waits for it; to one that has ended nothing can be sent.
bool RankLinks::is_cut_off(int64_t rank) {
  std::vector<at::Tensor> byte = {at::zeros({1}, at::kByte)};
  try {
    groups.front()->send(byte, static_cast<int>(rank), /*tag=*/0);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

// One that leaves at once would cut off those that still connect.
void RankLinks::await_connected() {
  try {
    put(*store, key_of("connected", place.rank), "");
    std::vector<int64_t> heard = beats_of_all();
    auto listened = Clock::now();
    for (Nap nap;; nap.take()) {
      const std::vector<int64_t> missing = those_without("connected");
      if (missing.empty()) return;
      if (const auto failure = read_failure(*store)) throw reported(*failure, place.size);
      if (Clock::now() - listened < kLookAround * beat) continue;
      const std::vector<int64_t> now = beats_of_all();
      for (const int64_t rank : missing) {
        if (now[rank] == heard[rank]) throw not_connected(fmt::format("rank {} is silent", rank));
      }
      heard = now;
      listened = Clock::now();
    }
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& error) {
    throw not_connected(error.what());
  }
}

// The others wait for this one, and are notified.
RankLost RankLinks::not_connected(const std::string& reason) {
  RankLost error = lost("connecting the processes", reason);
  tell(error);
  return error;
}

std::vector<int64_t> RankLinks::beats_of_all() const {
  std::vector<int64_t> counts;
  for (int64_t rank = 0; rank < place.size; ++rank) counts.push_back(store->add(key_of("beats", rank), 0));
  return counts;
}

RankLost RankLinks::lost(const std::string& what, const std::string& reason) {
  for (auto& group : groups) group.reset();  // so that the others' exchanges end, too
  end_device_groups();
  set_patience(kBeat);  // or the one that has the store is waited for once more
  try {
    return diagnosis(what, reason);
  } catch (const std::exception&) {
    return RankLost(ErrorKind::kResource, fmt::format("{} ended: rank 0 of {}, at which the processes meet, does not answer any more; {}",
                                                      what, place.size, advice()));
  }
}

const char* RankLinks::advice() const { return have_met ? kGoOn : "training had not started: start all of them again"; }

RankLost RankLinks::diagnosis(const std::string& what, const std::string& reason) {
  const std::vector<int64_t> before = beats_of_all();
  std::vector<int64_t> silent;
  Nap nap;
  for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end; nap.take()) {
    if (const auto failure = read_failure(*store)) return reported(*failure, place.size);
    const std::vector<int64_t> now = beats_of_all();
    silent.clear();
    int64_t fewest = INT64_MAX;  // beats of those that have given any
    for (int64_t rank = 0; rank < place.size; ++rank) {
      const int64_t count = now[rank] - before[rank];
      if (count == 0) {
        silent.push_back(rank);
      } else {
        fewest = std::min(fewest, count);
      }
    }
    if (!silent.empty() && fewest != INT64_MAX && fewest >= kBeatsOfLife) break;
  }
  if (silent.empty()) {
    return RankLost(ErrorKind::kResource,
                    fmt::format("{} failed, and all {} processes are alive ({}); {}", what, place.size, first_line(reason), advice()));
  }
  return RankLost(ErrorKind::kResource, fmt::format("{} ended: {} does not answer any more (killed, stopped or cut off); {}", what,
                                                    named(silent, place.size), advice()));
}

// The port goes with this process: the others that came must have read what they need.
void RankLinks::await_leaving() const {
  const auto is_there = [this](int64_t rank) { return store->check({key_of("joined", rank)}) && !store->check({key_of("left", rank)}); };
  std::vector<int64_t> ranks(place.size);
  std::iota(ranks.begin(), ranks.end(), 0);
  Nap nap;
  for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end; nap.take()) {
    if (std::none_of(ranks.begin(), ranks.end(), is_there)) return;
  }
}

}  // namespace debias
