#include "debias/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr uint16_t kShuffleStep = 0;
constexpr uint16_t kWeightedStep = 1;
constexpr uint16_t kRoundStep = 2;   // the groups of a round
constexpr uint16_t kMemberStep = 3;  // the members of a group

RngKey order_key(uint64_t seed, uint64_t epoch, uint16_t step) {
  RngKey key = {.domain = RngDomain::kOrder, .seed = seed, .epoch = epoch, .step = step};
  return key;
}

}  // namespace

std::vector<Visit> SequentialSampler::epoch(uint64_t, uint64_t) const {
  std::vector<Visit> visits(static_cast<size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) visits[i].index = i;
  return visits;
}

std::vector<Visit> ShuffledSampler::epoch(uint64_t seed, uint64_t epoch) const {
  const std::vector<int64_t> order = permutation(size_, order_key(seed, epoch, kShuffleStep));
  std::vector<Visit> visits(order.size());
  for (size_t i = 0; i < order.size(); ++i) visits[i].index = order[i];
  return visits;
}

WeightedSampler::WeightedSampler(std::vector<double> weights, int64_t count)
    : weights_(std::move(weights)), cumulative_(weights_), count_(count) {
  if (count_ < 0) throw usage_error("weighted sampler: {} draws were asked for; give 0 or more", count_);
  double total = 0;
  for (size_t i = 0; i < cumulative_.size(); ++i) {
    if (!std::isfinite(cumulative_[i]) || cumulative_[i] < 0) {
      throw usage_error("weighted sampler: weight {} is {}; weights are finite and >= 0", i, cumulative_[i]);
    }
    total += cumulative_[i];
    cumulative_[i] = total;
  }
  if (count_ > 0 && !(total > 0 && std::isfinite(total))) {
    throw usage_error("weighted sampler: the weights sum to {}; at least one must be above 0", total);
  }
}

std::vector<Visit> WeightedSampler::epoch(uint64_t seed, uint64_t epoch) const {
  Random random(order_key(seed, epoch, kWeightedStep));
  std::unordered_map<int64_t, uint32_t> seen;
  std::vector<Visit> visits(static_cast<size_t>(count_));
  for (Visit& visit : visits) {
    const double point = random.uniform() * cumulative_.back();
    // The first index whose cumulative weight exceeds the point has a weight above 0. Rounding can lift the point to the total:
    // then the first index that reaches the total is the last one of weight above 0.
    auto chosen = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
    if (chosen == cumulative_.end()) chosen = std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back());
    visit.index = chosen - cumulative_.begin();
    visit.occurrence = seen[visit.index]++;
  }
  return visits;
}

BalancedSampler::BalancedSampler(const std::vector<int64_t>& groups) : size_(std::ssize(groups)) {
  std::map<int64_t, std::vector<int64_t>> members;  // by number, so that the order does not depend on what comes first
  for (int64_t i = 0; i < size_; ++i) members[groups[i]].push_back(i);
  for (auto& [group, indices] : members) members_.push_back(std::move(indices));
}

std::vector<Visit> BalancedSampler::epoch(uint64_t seed, uint64_t epoch) const {
  const auto G = std::ssize(members_);
  std::vector<std::vector<int64_t>> orders(members_.size());
  std::vector<int64_t> given(members_.size(), 0);
  std::vector<Visit> visits;
  for (uint64_t round = 0; std::ssize(visits) < size_; ++round) {
    RngKey round_key = order_key(seed, epoch, kRoundStep);
    round_key.sample = round;
    for (const int64_t g : permutation(G, round_key)) {
      if (std::ssize(visits) == size_) break;
      const auto n = std::ssize(members_[g]);
      const auto occurrence = static_cast<uint32_t>(given[g] / n);
      if (given[g] % n == 0) {
        RngKey key = order_key(seed, epoch, kMemberStep);
        key.sample = static_cast<uint64_t>(g);
        key.occurrence = occurrence;
        orders[g] = permutation(n, key);
      }
      visits.push_back({members_[g][orders[g][given[g]++ % n]], occurrence});
    }
  }
  return visits;
}

std::vector<double> BalancedSampler::weights() const {
  std::vector<double> weights(static_cast<size_t>(size_));
  for (const auto& indices : members_) {
    for (const int64_t i : indices) weights[i] = 1 / static_cast<double>(indices.size());
  }
  return weights;
}

}  // namespace debias
