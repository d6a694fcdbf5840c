#include "debias/ranks/ranks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <new>
#include <thread>

#include "debias/core/cpu_share.h"
#include "debias/ranks/store.h"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Gloo = c10d::ProcessGroupGloo;

constexpr milliseconds kBeat{500}, kBeatInFile{2000}, kLongestNap{100};  // a file keeps every beat
constexpr int64_t kBeatsOfLife = 3;                                      // that a rank gives while another gives none, which is then lost
constexpr int64_t kLookAround = 12;  // beats for which the others are looked at, before they are called lost
constexpr int64_t kPiece = 1 << 20;  // floats of a sum at a time: 4 MiB; one piece of 41 MiB took seven times as long
constexpr size_t kChannels = 3;

std::string key_of(const char* what, int64_t number) { return fmt::format("{}/{}", what, number); }

bool is_this_machine(const std::string& host) { return host == "localhost" || host.starts_with("127."); }

double cpu_seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Short at first, then longer.
class Nap {
 public:
  void take() {
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, kLongestNap);
  }

 private:
  milliseconds length_{1};
};

std::string named(const std::vector<int64_t>& ranks, int64_t size) {
  if (ranks.size() == 1) return fmt::format("rank {} of {}", ranks.front(), size);
  return fmt::format("ranks {} of {}", fmt::join(ranks, ", "), size);
}

RankLost told(const RankFailure& failure, int64_t size) {
  return RankLost(failure.kind, fmt::format("rank {} of {}: {}", failure.rank, size, failure.text));
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

// Says that a process is alive, in a thread and over a connection of its own.
class RankBeats {
 public:
  RankBeats(const StorePointer& store, std::string key, milliseconds interval)
      : store_(store->clone()), key_(std::move(key)), interval_(interval), thread_([this] { beat(); }) {}
  ~RankBeats() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  void beat() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      lock.unlock();
      try {
        store_->add(key_, 1);
      } catch (const std::exception&) {  // the store is gone, which the main thread will find
      }
      lock.lock();
      over_.wait_for(lock, interval_, [this] { return is_over_; });
    }
  }

  StorePointer store_;
  std::string key_;
  milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

struct Ranks::State {
  State(const Place& where, const Rendezvous& meeting)
      : place(where), rendezvous(meeting), beat(meeting.file.empty() ? kBeat : kBeatInFile), store(open_store(meeting, where)) {
    try {
      meet();
    } catch (const RankLost&) {
      throw;
    } catch (const Error& error) {
      const RankFailure own = {place.rank, error.kind(), error.what()};
      put_first(*store, kFailureKey, failure_text(own));
      throw told(own, place.size);
    }
    connect();
  }

  void meet() {
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

  ~State() {
    beats.reset();
    try {
      put(*store, key_of("left", place.rank), "");
      if (rendezvous.serves) await_leaving();
    } catch (const std::exception&) {  // the process that has the store is gone
    }
  }

  void await_all(const char* what) {
    std::vector<int64_t> missing;
    Nap nap;
    for (const auto end = Clock::now() + rendezvous.setup; Clock::now() < end; nap.take()) {
      if (const auto failure = read_failure(*store)) throw told(*failure, place.size);
      require_one_size();
      missing = those_without(what);
      if (missing.empty()) return;
    }
    throw resource_error("rendezvous: {} did not come within {} s; start it, or correct the number of processes",
                         named(missing, place.size), rendezvous.setup.count() / 1000);
  }

  void require_one_size() const {
    const std::string size = find(*store, "size").value_or("");
    if (size.empty() || size == std::to_string(place.size)) return;
    throw usage_error("rendezvous: this is one of {} processes, rank 0 one of {}; start all with one number", place.size, size);
  }

  std::vector<int64_t> those_without(const char* what) const {
    std::vector<int64_t> ranks;
    for (int64_t rank = 0; rank < place.size; ++rank) {
      if (!store->check({key_of(what, rank)})) ranks.push_back(rank);
    }
    return ranks;
  }

  void connect() {
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
        throw lost("connecting the processes", error.what());
      }
    }
  }

  std::vector<int64_t> beats_of_all() const {
    std::vector<int64_t> counts;
    for (int64_t rank = 0; rank < place.size; ++rank) counts.push_back(store->add(key_of("beats", rank), 0));
    return counts;
  }

  // After an exchange that failed, or where a rank is waited for in vain: what the one that failed said, or who is silent.
  RankLost lost(const std::string& what, const std::string& reason) {
    for (auto& group : groups) group.reset();  // so that the others' exchanges end, too
    try {
      return diagnosis(what, reason);
    } catch (const std::exception&) {
      return RankLost(ErrorKind::kResource, fmt::format("{} ended: rank 0 of {}, at which the processes meet, does not answer any more; {}",
                                                        what, place.size, kGoOn));
    }
  }

  RankLost diagnosis(const std::string& what, const std::string& reason) {
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

  template <class Start>
  void exchange(Channel channel, const char* what, int64_t bytes, const Start& start) {
    const auto index = static_cast<size_t>(channel);
    if (groups[index] == nullptr) throw lost(what, "an exchange failed before");
    const auto begin = Clock::now();
    const double cpu = cpu_seconds_now();
    try {
      start(*groups[index])->wait();
    } catch (const std::exception& error) {
      throw lost(what, error.what());
    }
    ++traffic[index].calls;
    traffic[index].bytes += bytes;
    traffic[index].seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    traffic[index].cpu_seconds += cpu_seconds_now() - cpu;
  }

  // The port goes with this process: the others must have read what they need.
  void await_leaving() const {
    Nap nap;
    for (const auto end = Clock::now() + kLookAround * beat; Clock::now() < end && !those_without("left").empty(); nap.take()) {
    }
  }

  static constexpr const char* kGoOn = "the last checkpoint stands: go on with --resume";

  Place place;
  Rendezvous rendezvous;
  milliseconds beat;
  StorePointer store;
  std::unique_ptr<RankBeats> beats;
  std::array<c10::intrusive_ptr<Gloo>, kChannels> groups;
  std::array<Traffic, kChannels> traffic;
  int64_t sayings = 0;
};

const Ranks& Ranks::alone() {
  static const Ranks alone(Place{}, Rendezvous{});
  return alone;
}

Ranks::Ranks(const Place& place, const Rendezvous& rendezvous) : place_(place) {
  if (!is_alone()) state_ = std::make_unique<State>(place, rendezvous);
}

int64_t Ranks::cpus() const { return std::max<int64_t>(1, available_cpus() / place_.local_size); }

Ranks::~Ranks() = default;

at::Tensor Ranks::gather(const at::Tensor& own, Channel channel) const {
  if (is_alone()) return own.detach().contiguous().unsqueeze(0);
  at::Tensor input = own.detach().to(at::kCPU).contiguous();  // gloo's groups are of the host
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.insert(sizes.begin(), size());
  at::Tensor all = at::empty(sizes, input.options());
  at::Tensor flat_all = all.view(-1), flat = input.view(-1);
  state_->exchange(channel, "gathering", static_cast<int64_t>(input.nbytes()),
                   [&](Gloo& group) { return group._allgather_base(flat_all, flat); });
  return all.to(own.device());
}

at::Tensor Ranks::gather_rows(const at::Tensor& own, int64_t rows) const {
  if (is_alone()) return own;
  const int64_t largest = largest_share(rows);
  at::Tensor padded = own.detach();
  if (own.size(0) < largest) {
    std::vector<int64_t> sizes = own.sizes().vec();
    sizes[0] = largest - own.size(0);
    padded = at::cat({padded, at::zeros(sizes, own.options())});
  }
  const at::Tensor all = gather(padded);
  std::vector<at::Tensor> parts;
  for (int64_t rank = 0; rank < size(); ++rank) parts.push_back(all[rank].slice(0, 0, share_of(rows, rank).size()));
  return at::cat(parts);
}

void Ranks::sum_ordered(const std::vector<at::Tensor>& tensors) const {
  if (is_alone() || tensors.empty()) return;
  std::vector<at::Tensor> flat_parts;
  for (const auto& tensor : tensors) flat_parts.push_back(tensor.detach().reshape(-1));
  at::Tensor flat = at::cat(flat_parts).to(at::kCPU);
  std::vector<int64_t> even;
  for (int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    at::Tensor piece = flat.slice(0, begin, std::min(begin + kPiece, flat.numel()));
    const int64_t chunk = (piece.numel() + size() - 1) / size();
    at::Tensor given = at::zeros({chunk * size()}, flat.options()), received = at::empty_like(given);
    given.slice(0, 0, piece.numel()).copy_(piece);
    const auto bytes = static_cast<int64_t>(given.nbytes());
    state_->exchange(Channel::kSums, "summing gradients", bytes,
                     [&](Gloo& group) { return group.alltoall_base(received, given, even, even); });
    const at::Tensor of_ranks = received.view({size(), chunk});
    at::Tensor sum = of_ranks[0].clone();
    for (int64_t rank = 1; rank < size(); ++rank) sum += of_ranks[rank];
    state_->exchange(Channel::kSums, "summing gradients", static_cast<int64_t>(sum.nbytes()),
                     [&](Gloo& group) { return group._allgather_base(given, sum); });
    piece.copy_(given.slice(0, 0, piece.numel()));
  }
  int64_t at = 0;
  for (const auto& tensor : tensors) {
    tensor.detach().copy_(flat.slice(0, at, at + tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

void Ranks::take_from_leader(const std::vector<at::Tensor>& tensors) const {
  if (is_alone()) return;
  for (const auto& tensor : tensors) {
    std::vector<at::Tensor> one = {tensor.detach().to(at::kCPU).contiguous().view(-1)};
    if (one[0].numel() == 0) continue;
    state_->exchange(Channel::kSums, "taking tensors from rank 0", leads() ? static_cast<int64_t>(tensor.nbytes()) : 0,
                     [&](Gloo& group) { return group.broadcast(one); });
    if (!leads()) tensor.detach().copy_(one[0].view(tensor.sizes()));
  }
}

std::string Ranks::await(const std::string& key, int64_t of_rank) const {
  c10d::Store& store = *state_->store;
  const std::string beats = key_of("beats", of_rank), what = fmt::format("waiting for rank {}", of_rank);
  int64_t heard = 0;
  auto last = Clock::now();
  Nap nap;
  try {
    while (Clock::now() - last < state_->rendezvous.step) {
      if (const auto text = find(store, key)) return *text;
      if (const auto failure = read_failure(store)) throw told(*failure, size());
      const int64_t now = store.add(beats, 0);
      if (now != heard) last = Clock::now();
      heard = now;
      nap.take();
    }
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& error) {
    throw state_->lost(what, error.what());
  }
  throw RankLost(ErrorKind::kResource, fmt::format("{}: it does not answer for {} s (killed, stopped or cut off); {}", what,
                                                   state_->rendezvous.step.count() / 1000, State::kGoOn));
}

std::string Ranks::leader_says(const std::function<std::string()>& work) const {
  if (is_alone()) return work();
  const std::string key = key_of("said", state_->sayings++);
  if (!leads()) return await(key, 0);
  const std::string text = work();
  try {
    put(*state_->store, key, text);
  } catch (const std::exception& error) {
    throw state_->lost("speaking to the other ranks", error.what());
  }
  return text;
}

std::vector<std::string> Ranks::tell_leader(const std::string& text) const {
  if (is_alone()) return {text};
  const std::string turn = key_of("told", state_->sayings++);
  std::vector<std::string> texts;
  if (!leads()) {
    try {
      put(*state_->store, key_of(turn.c_str(), rank()), text);
    } catch (const std::exception& error) {
      throw state_->lost("speaking to rank 0", error.what());
    }
    return texts;
  }
  texts.push_back(text);
  for (int64_t r = 1; r < size(); ++r) texts.push_back(await(key_of(turn.c_str(), r), r));
  return texts;
}

Error Ranks::failed(const Error& error) const {
  if (is_alone() || dynamic_cast<const RankLost*>(&error) != nullptr) return error;
  const RankFailure own = {rank(), error.kind(), error.what()};
  try {
    if (put_first(*state_->store, kFailureKey, failure_text(own))) return told(own, size());
    return told_failure();
  } catch (const std::exception&) {  // nobody is left to be told
    return told(own, size());
  }
}

RankLost Ranks::told_failure() const {
  Nap nap;
  for (const auto end = Clock::now() + kLookAround * state_->beat; Clock::now() < end; nap.take()) {
    if (const auto failure = read_failure(*state_->store)) return told(*failure, size());
  }
  return RankLost(ErrorKind::kFailure, fmt::format("one of {} processes failed, and did not say why; {}", size(), State::kGoOn));
}

Traffic Ranks::traffic(Channel channel) const { return is_alone() ? Traffic{} : state_->traffic[static_cast<size_t>(channel)]; }

int tell_failures(const Ranks& ranks, const std::function<int()>& work) {
  if (ranks.is_alone()) return work();
  try {
    return work();
  } catch (const Error& error) {
    throw ranks.failed(error);
  } catch (const std::bad_alloc&) {
    static_cast<void>(ranks.failed(resource_error("out of memory; lower batch_size or set train.micro_batch")));
    throw;
  } catch (const std::exception& error) {
    static_cast<void>(ranks.failed(Error(ErrorKind::kFailure, error.what())));
    throw;
  }
}

}  // namespace debias
