#include "debias/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr uint16_t kShuffleStep = 0;
constexpr uint16_t kWeightedStep = 1;

RngKey order_key(uint64_t seed, uint64_t epoch, uint16_t step) {
  RngKey key;
  key.domain = RngDomain::kOrder;
  key.seed = seed;
  key.epoch = epoch;
  key.step = step;
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

WeightedSampler::WeightedSampler(std::vector<double> weights, int64_t count) : cumulative_(std::move(weights)), count_(count) {
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

}  // namespace debias
