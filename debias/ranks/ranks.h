// The processes of a data-parallel training: their numbers, and what they exchange.
//
// Each has a rank, from 0; rank 0 leads: it alone reads and writes the run's folder. All exchanges are collective: every rank calls the
// same ones, in the same order, with tensors of the same shape and type (which require_same() makes sure of before the first; gloo ends the
// process otherwise). One that fails throws on every rank that is left, naming the rank that does not answer, or saying what the one that
// failed said. Sums are formed in the order of the ranks, so that their bytes depend on nothing else.
//
// Tensors of devices cross by way of the host, or between the devices once join_devices() has found groups for them.
//
// A beat each half second says that a process is alive, however long it computes; a rank is lost when its beats stop.
//
// Alone, all of them return what they are given.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/ranks/rendezvous.h"

namespace debias {

struct RowRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Traffic since the start, by kind.
struct Traffic {
  int64_t calls = 0;
  int64_t bytes = 0;  // that this rank gave
  double cpu_seconds = 0, seconds = 0;
};

// Describes how tensors of devices cross.
struct DeviceExchange {
  std::string groups;   // "NCCL 2.28.9": between the devices
  std::string refusal;  // why they go by way of the host; empty as well where every rank computes on the CPU
};

// Ends a process because of another one: what that one said, or that it does not answer. Ranks::failed() passes it on as it is.
class RankLost : public Error {
 public:
  using Error::Error;
};

struct RankLinks;

class Ranks {
 public:
  enum class Channel { kRows, kStatistics, kSums };  // groups of their own, so that their orders cannot mix

  static const Ranks& alone();

  // Meets the others: all must come. Usage errors: a port in use, a file of an earlier run, two processes of one rank; resource errors name
  // who has not come.
  Ranks(const Place& place, const Rendezvous& rendezvous);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int64_t rank() const { return place_.rank; }
  int64_t size() const { return place_.size; }
  const Place& place() const { return place_; }
  bool leads() const { return place_.rank == 0; }
  bool is_alone() const { return place_.size == 1; }
  int64_t cpus() const;  // for this process, where several share the machine

  // The rows of a batch that are this rank's, or another's: [B r / W, B (r + 1) / W).
  RowRange share_of(int64_t rows) const { return share_of(rows, place_.rank); }
  RowRange share_of(int64_t rows, int64_t rank) const { return {rows * rank / place_.size, rows * (rank + 1) / place_.size}; }
  int64_t largest_share(int64_t rows) const { return (rows + place_.size - 1) / place_.size; }

  // Collective, with the UUID of the device that this process computes on, or nothing on the CPU. A resource error where two ranks have one
  // physical device.
  void require_own_devices(const std::string& uuid) const;
  // Collective, with the one device that this process computes on. From now on its tensors cross between devices, where every rank has one
  // and groups for it that a trial has crossed; otherwise those of all ranks pass through the host.
  void join_devices(const c10::Device& own) const;
  DeviceExchange device_exchange() const;

  // [W, ...] of every rank's `own`.
  at::Tensor gather(const at::Tensor& own, Channel channel = Channel::kRows) const;
  // All rows, in order, of each rank's share of them: `own` [share_of(rows).size(), ...].
  at::Tensor gather_rows(const at::Tensor& own, int64_t rows) const;
  // Each tensor becomes the sum over the ranks of those in its place: ((rank 0 + rank 1) + rank 2) + ... All have one type.
  void sum_ordered(const std::vector<at::Tensor>& tensors) const;
  // Each tensor becomes rank 0's.
  void take_from_leader(const std::vector<at::Tensor>& tensors) const;

  // Returns the result of rank 0's `work` on every rank. It may take any time: the others wait while rank 0 is alive.
  std::string leader_says(const std::function<std::string()>& work) const;
  // Returns the values of all ranks, by rank, on rank 0; elsewhere nothing.
  std::vector<std::string> tell_leader(const std::string& text) const;

  // To be called by a process that ends with an error of its own; the first to do so is heard. Returns what to say at the end of it: the
  // error with the rank, or that of the rank that failed first.
  Error failed(const Error& error) const;

  // Message of another rank that failed, if one is known.
  RankLost reported_failure() const;

  Traffic traffic(Channel channel) const;

 private:
  std::string await(const std::string& key, int64_t of_rank) const;
  std::string refusal_of_any(const std::string& own) const;

  Place place_;
  std::unique_ptr<RankLinks> links_;
};

// Runs `work` as one of the ranks: its exception is sent to the others, and thrown on as failed() converts it.
int tell_failures(const Ranks& ranks, const std::function<int()>& work);

// Checks that all ranks train the same, before the first tensor crosses: tensors of two shapes in one exchange end a process without
// a word.
struct Fact {
  std::string name;   // "the recipe"
  std::string value;  // of this process
  // Message for two values that differ; empty: the difference does not matter. Left out: the values themselves.
  std::function<std::string(const std::string& leaders, const std::string& other)> difference{};
};

// Throws a usage error on every rank where one has another value than rank 0: naming the rank, the fact and the difference.
void require_same(const std::vector<Fact>& facts, const Ranks& ranks);

// All ranks' rows as one tensor that gradients flow back through.

// own: [share_of(rows).size(), ...], this rank's rows. The result [rows, ...] is the same on every rank, and each computes the same loss of
// all of it: its gradient in the own rows is what this rank has to carry back, and no gradient crosses. Parameters must be before the
// gather, and their gradients are then summed over the ranks; of parameters behind it every rank has the whole gradient already.
at::Tensor gather_rows(const at::Tensor& own, int64_t rows, const Ranks& ranks);

}  // namespace debias
