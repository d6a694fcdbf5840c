#include "debias/ranks/ranks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "debias/core/cpu_share.h"
#include "debias/core/printable.h"
#include "debias/ranks/rank_links.h"

namespace debias {
namespace {

using Clock = RankLinks::Clock;
using Group = c10d::Backend;

constexpr int64_t kPiece = 1 << 20;  // floats of a sum at a time: 4 MiB; one piece of 41 MiB took seven times as long
constexpr const char* kOnHost = "its device is the CPU";

// Exception of `work`, in one line.
std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const std::exception& error) {
    return first_line(error.what());
  }
}

}  // namespace

const Ranks& Ranks::alone() {
  static const Ranks alone(Place{}, Rendezvous{});
  return alone;
}

Ranks::Ranks(const Place& place, const Rendezvous& rendezvous) : place_(place) {
  if (is_alone()) return;
  links_ = std::make_unique<RankLinks>(place, rendezvous);
  place_ = links_->place;
}

int64_t Ranks::cpus() const { return std::max<int64_t>(1, available_cpus() / place_.local_size); }

Ranks::~Ranks() = default;

// The first of any rank, on every rank; kOnHost where that is what all of them say.
std::string Ranks::refusal_of_any(const std::string& own) const {
  const std::vector<std::string> refusals = tell_leader(own);
  return leader_says([&]() -> std::string {
    if (std::all_of(refusals.begin(), refusals.end(), [](const std::string& text) { return text == kOnHost; })) return kOnHost;
    for (int64_t r = 0; r < size(); ++r) {
      if (!refusals[r].empty()) return fmt::format("rank {} of {}: {}", r, size(), refusals[r]);
    }
    return "";
  });
}

void Ranks::require_own_devices(const std::string& uuid) const {
  if (is_alone()) return;
  const std::vector<std::string> uuids = tell_leader(uuid);
  const std::string clash = leader_says([&]() -> std::string {
    std::map<std::string, int64_t> owners;
    for (int64_t rank = 0; rank < size(); ++rank) {
      const auto [owner, is_new] = owners.try_emplace(uuids[rank], rank);
      if (!is_new && !uuids[rank].empty()) return fmt::format("ranks {} and {} have one device, {}", owner->second, rank, uuids[rank]);
    }
    return "";
  });
  if (!clash.empty()) throw resource_error("device: {}; show each process a device of its own, or start fewer processes", clash);
}

void Ranks::join_devices(const c10::Device& own) const {
  if (is_alone() || links_->device_type) return;
  const DeviceGroups& groups = *links_->rendezvous.devices;
  std::string name;
  std::string refusal = groups.are_of(own.type()) ? refusal_of([&] { name = groups.open(); }) : kOnHost;
  refusal = refusal_of_any(refusal);
  if (refusal.empty()) refusal = refusal_of_any(refusal_of([&] { links_->connect_devices(own); }));
  if (refusal.empty()) {
    links_->device_type = own.type();
    links_->devices.groups = name;
    return;
  }
  links_->end_device_groups();
  if (refusal != kOnHost) links_->devices.refusal = refusal;
}

DeviceExchange Ranks::device_exchange() const { return is_alone() ? DeviceExchange{} : links_->devices; }

at::Tensor Ranks::gather(const at::Tensor& own, Channel channel) const {
  if (is_alone()) return own.detach().contiguous().unsqueeze(0);
  const at::Tensor input = links_->crossing(own.detach()).contiguous();
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.insert(sizes.begin(), size());
  at::Tensor all = at::empty(sizes, input.options());
  at::Tensor flat_all = all.view(-1), flat = input.view(-1);
  links_->exchange(channel, "gathering", input.device(), static_cast<int64_t>(input.nbytes()),
                   [&](Group& group) { return group._allgather_base(flat_all, flat); });
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
  at::Tensor flat = links_->crossing(at::cat(flat_parts));
  std::vector<int64_t> even;
  for (int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    at::Tensor piece = flat.slice(0, begin, std::min(begin + kPiece, flat.numel()));
    const int64_t chunk = (piece.numel() + size() - 1) / size();
    at::Tensor given = at::zeros({chunk * size()}, flat.options()), received = at::empty_like(given);
    given.slice(0, 0, piece.numel()).copy_(piece);
    const auto bytes = static_cast<int64_t>(given.nbytes());
    links_->exchange(Channel::kSums, "summing gradients", flat.device(), bytes,
                     [&](Group& group) { return group.alltoall_base(received, given, even, even); });
    const at::Tensor of_ranks = received.view({size(), chunk});
    at::Tensor sum = of_ranks[0].clone();
    for (int64_t rank = 1; rank < size(); ++rank) sum += of_ranks[rank];
    links_->exchange(Channel::kSums, "summing gradients", flat.device(), static_cast<int64_t>(sum.nbytes()),
                     [&](Group& group) { return group._allgather_base(given, sum); });
    piece.copy_(given.slice(0, 0, piece.numel()));
  }
  const at::Tensor summed = flat.to(tensors.front().device());
  std::vector<at::Tensor> to, from;
  int64_t at = 0;
  for (const auto& tensor : tensors) {
    to.push_back(tensor.detach());
    from.push_back(summed.slice(0, at, at + tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
  at::_foreach_copy_(to, from);
}

void Ranks::take_from_leader(const std::vector<at::Tensor>& tensors) const {
  if (is_alone()) return;
  for (const auto& tensor : tensors) {
    std::vector<at::Tensor> one = {links_->crossing(tensor.detach()).contiguous().view(-1)};
    if (one[0].numel() == 0) continue;
    links_->exchange(Channel::kSums, "taking tensors from rank 0", one[0].device(), leads() ? static_cast<int64_t>(tensor.nbytes()) : 0,
                     [&](Group& group) { return group.broadcast(one); });
    if (!leads()) tensor.detach().copy_(one[0].view(tensor.sizes()));
  }
}

std::string Ranks::await(const std::string& key, int64_t of_rank) const {
  c10d::Store& store = *links_->store;
  const std::string beats = RankLinks::key_of("beats", of_rank), what = fmt::format("waiting for rank {}", of_rank);
  int64_t heard = 0;
  auto last = Clock::now();
  Nap nap;
  try {
    while (Clock::now() - last < links_->rendezvous.step) {
      if (const auto text = find(store, key)) return *text;
      if (const auto failure = read_failure(store)) throw RankLinks::reported(*failure, size());
      const int64_t now = store.add(beats, 0);
      if (now != heard) last = Clock::now();
      heard = now;
      nap.take();
    }
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& error) {
    throw links_->lost(what, error.what());
  }
  throw RankLost(ErrorKind::kResource, fmt::format("{}: it does not answer for {} s (killed, stopped or cut off); {}", what,
                                                   links_->rendezvous.step.count() / 1000, RankLinks::kGoOn));
}

std::string Ranks::leader_says(const std::function<std::string()>& work) const {
  if (is_alone()) return work();
  const std::string key = RankLinks::key_of("said", links_->sayings++);
  if (!leads()) return await(key, 0);
  const std::string text = work();
  try {
    put(*links_->store, key, text);
  } catch (const std::exception& error) {
    throw links_->lost("speaking to the other ranks", error.what());
  }
  return text;
}

std::vector<std::string> Ranks::tell_leader(const std::string& text) const {
  if (is_alone()) return {text};
  const std::string turn = RankLinks::key_of("told", links_->sayings++);
  std::vector<std::string> texts;
  if (!leads()) {
    try {
      put(*links_->store, RankLinks::key_of(turn.c_str(), rank()), text);
    } catch (const std::exception& error) {
      throw links_->lost("speaking to rank 0", error.what());
    }
    return texts;
  }
  texts.push_back(text);
  for (int64_t r = 1; r < size(); ++r) texts.push_back(await(RankLinks::key_of(turn.c_str(), r), r));
  return texts;
}

Error Ranks::failed(const Error& error) const {
  if (is_alone() || dynamic_cast<const RankLost*>(&error) != nullptr) return error;
  const RankFailure own = {rank(), error.kind(), error.what()};
  try {
    if (put_first(*links_->store, kFailureKey, failure_text(own))) return RankLinks::reported(own, size());
    return reported_failure();
  } catch (const std::exception&) {  // no rank is left to notify
    return RankLinks::reported(own, size());
  }
}

RankLost Ranks::reported_failure() const {
  Nap nap;
  try {
    for (const auto end = Clock::now() + RankLinks::kLookAround * links_->beat; Clock::now() < end; nap.take()) {
      if (const auto failure = read_failure(*links_->store)) return RankLinks::reported(*failure, size());
    }
  } catch (const std::exception& error) {
    return links_->lost("asking which of them failed", error.what());
  }
  return RankLost(ErrorKind::kFailure, fmt::format("one of {} processes failed, and gave no reason; {}", size(), RankLinks::kGoOn));
}

Traffic Ranks::traffic(Channel channel) const { return is_alone() ? Traffic{} : links_->traffic[static_cast<size_t>(channel)]; }

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

namespace {

std::string difference(const Fact& fact, const std::string& leaders, const std::string& other) {
  if (leaders == other) return "";
  return fact.difference ? fact.difference(leaders, other) : fmt::format("'{}' on rank 0, '{}' there", leaders, other);
}

// Empty where all are the same.
std::string first_difference(const std::vector<Fact>& facts, const std::vector<std::string>& packed) {
  const auto leaders = nlohmann::json::from_cbor(packed[0]);
  for (size_t rank = 1; rank < packed.size(); ++rank) {
    const auto others = nlohmann::json::from_cbor(packed[rank]);
    for (size_t i = 0; i < std::min(facts.size(), others.size()); ++i) {
      const auto& at_leader = leaders[i].get_binary();
      const auto& there = others[i].get_binary();
      const std::string text = difference(facts[i], {at_leader.begin(), at_leader.end()}, {there.begin(), there.end()});
      if (!text.empty()) return fmt::format("rank {} of {} has not {} of rank 0: {}", rank, packed.size(), facts[i].name, text);
    }
    if (others.size() != facts.size()) return fmt::format("rank {} of {} has another debias than rank 0; install one", rank, packed.size());
  }
  return "";
}

}  // namespace

void require_same(const std::vector<Fact>& facts, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  nlohmann::json own = nlohmann::json::array();
  for (const auto& fact : facts) own.push_back(nlohmann::json::binary({fact.value.begin(), fact.value.end()}));
  const auto packed = nlohmann::json::to_cbor(own);
  const std::vector<std::string> gathered = ranks.tell_leader({packed.begin(), packed.end()});
  const std::string verdict = ranks.leader_says([&] { return first_difference(facts, gathered); });
  if (!verdict.empty()) throw RankLost(ErrorKind::kUsage, verdict);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& own, int64_t rows, const Ranks* ranks) {
    context->set_materialize_grads(false);  // rows that no loss reads leave their parameters without a gradient, as in one process
    const RowRange share = ranks->share_of(rows);
    context->saved_data["begin"] = share.begin;
    context->saved_data["end"] = share.end;
    return ranks->gather_rows(own, rows);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    at::Tensor own;
    if (gradients[0].defined()) {
      own = gradients[0].slice(0, context->saved_data["begin"].toInt(), context->saved_data["end"].toInt());
    }
    return {own, {}, {}};
  }
};

}  // namespace

at::Tensor gather_rows(const at::Tensor& own, int64_t rows, const Ranks& ranks) {
  return ranks.is_alone() ? own : GatherRows::apply(own, rows, &ranks);
}

}  // namespace debias
