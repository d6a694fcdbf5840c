#include "debias/ranks/rank_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <ctime>

namespace debias {
namespace {

using std::chrono::milliseconds;
using Gloo = RankLinks::Gloo;

constexpr milliseconds kBeat{500}, kBeatInFile{2000};  // a file keeps every beat
constexpr int64_t kBeatsOfLife = 3;                    // that a rank gives while another gives none, which is then lost

bool is_this_machine(const std::string& host) { return host == "localhost" || host.starts_with("127."); }

std::string named(const std::vector<int64_t>& ranks, int64_t size) {
  if (ranks.size() == 1) return fmt::format("rank {} of {}", ranks.front(), size);
  return fmt::format("ranks {} of {}", fmt::join(ranks, ", "), size);
}

std::shared_ptr<::gloo::transport::Device> device_of(const Rendezvous& rendezvous) {
  if (!rendezvous.interface.empty()) {
    try {
      return Gloo::createDeviceForInterface(rendezvous.interface);
    } catch (const std::exception&) {
      throw usage_error("--interface: '{}' is no network interface of this machine that has an address; see `ip address`",
                        rendezvous.interface);
    }
  }
  if (rendezvous.threads != nullptr || is_this_machine(rendezvous.host)) return Gloo::createDeviceForHostname("127.0.0.1");
  return Gloo::createDefaultDevice();
}

}  // namespace

std::string RankLinks::key_of(const char* what, int64_t number) { return fmt::format("{}/{}", what, number); }

RankLost RankLinks::told(const RankFailure& failure, int64_t size) {
  return RankLost(failure.kind, fmt::format("rank {} of {}: {}", failure.rank, size, failure.text));
}

double RankLinks::cpu_seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

RankLinks::RankLinks(const Place& where, const Rendezvous& meeting)
    : place(where), rendezvous(meeting), beat(meeting.file.empty() ? kBeat : kBeatInFile), store(open_store(meeting, where)) {
  try {
    meet();
    connect();
    await_connected();
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    const RankFailure own = {place.rank, error.kind(), error.what()};
    put_first(*store, kFailureKey, failure_text(own));
    throw told(own, place.size);
  }
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
  put(*store, key_of("ready", place.rank), "");
  await_all("ready");
}

RankLinks::~RankLinks() {
  beats.reset();
  try {
    put(*store, key_of("left", place.rank), "");
    if (rendezvous.serves) await_leaving();
  } catch (const std::exception&) {  // the process that has the store is gone
  }
}

void RankLinks::await_all(const char* what) {
  std::vector<int64_t> missing;
  Nap nap;
  for (const auto end = Clock::now() + rendezvous.setup; Clock::now() < end; nap.take()) {
    if (const auto failure = read_failure(*store)) throw told(*failure, place.size);
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
  const auto device = device_of(rendezvous);
  constexpr std::array<const char*, kChannels> kNames = {"rows", "statistics", "sums"};
  for (size_t i = 0; i < kChannels; ++i) {
    auto options = Gloo::Options::create(rendezvous.step);
    options->threads = 1;
    options->devices = {device};
    try {
      groups[i] = c10::make_intrusive<Gloo>(c10::make_intrusive<c10d::PrefixStore>(kNames[i], store), static_cast<int>(place.rank),
                                            static_cast<int>(place.size), options);
    } catch (const std::exception& error) {
      throw not_connected(error.what());
    }
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
      if (const auto failure = read_failure(*store)) throw told(*failure, place.size);
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

// The others wait for this one, and are told.
RankLost RankLinks::not_connected(const std::string& reason) {
  RankLost error = lost("connecting the processes", reason);
  try {
    put_first(*store, kFailureKey, failure_text({place.rank, error.kind(), error.what()}));
  } catch (const std::exception&) {  // the process that has the store is gone
  }
  return error;
}

std::vector<int64_t> RankLinks::beats_of_all() const {
  std::vector<int64_t> counts;
  for (int64_t rank = 0; rank < place.size; ++rank) counts.push_back(store->add(key_of("beats", rank), 0));
  return counts;
}

RankLost RankLinks::lost(const std::string& what, const std::string& reason) {
  for (auto& group : groups) group.reset();  // so that the others' exchanges end, too
  try {
    return diagnosis(what, reason);
  } catch (const std::exception&) {
    return RankLost(ErrorKind::kResource, fmt::format("{} ended: rank 0 of {}, at which the processes meet, does not answer any more; {}",
                                                      what, place.size, kGoOn));
  }
}

RankLost RankLinks::diagnosis(const std::string& what, const std::string& reason) {
  const std::vector<int64_t> before = beats_of_all();
  std::vector<int64_t> silent;
  Nap nap;
  for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end; nap.take()) {
    if (const auto failure = read_failure(*store)) return told(*failure, place.size);
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
    return RankLost(ErrorKind::kResource, fmt::format("{} failed, and all {} processes are alive ({}); {}", what, place.size,
                                                      reason.substr(0, reason.find('\n')), kGoOn));
  }
  return RankLost(ErrorKind::kResource, fmt::format("{} ended: {} does not answer any more (killed, stopped or cut off); {}", what,
                                                    named(silent, place.size), kGoOn));
}

// The port goes with this process: the others must have read what they need.
void RankLinks::await_leaving() const {
  Nap nap;
  for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end && !those_without("left").empty(); nap.take()) {
  }
}

}  // namespace debias
