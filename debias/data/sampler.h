// The order in which an epoch visits a data set: a function of (seed, epoch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace debias {

constexpr int64_t kMaxOccurrences = 1 << 20;  // of a sample in an epoch

struct Visit {
  int64_t index = 0;        // into the data set
  uint32_t occurrence = 0;  // how often the sample came earlier in the epoch (samplers with replacement)
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const = 0;
  virtual std::vector<double> weights() const = 0;  // of each index, proportional to how often an epoch visits it on average
};

class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;
  std::vector<double> weights() const override { return std::vector<double>(static_cast<std::size_t>(size_), 1.0); }

 private:
  int64_t size_;
};

class ShuffledSampler : public Sampler {  // a fresh permutation each epoch
 public:
  explicit ShuffledSampler(int64_t size) : size_(size) {}
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;
  std::vector<double> weights() const override { return std::vector<double>(static_cast<std::size_t>(size_), 1.0); }

 private:
  int64_t size_;
};

class WeightedSampler : public Sampler {  // `count` draws with replacement, index i with probability proportional to weights[i]
 public:
  WeightedSampler(std::vector<double> weights, int64_t count);
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;
  std::vector<double> weights() const override { return weights_; }

 private:
  std::vector<double> weights_, cumulative_;
  int64_t count_;
};

// As many draws as there are indices, in rounds: a round has one index of each group, in a fresh order. A group gives all of its indices,
// in a fresh order, before it gives one again. With G groups, a batch of B visits has B / G of each if B is a multiple of G; else numbers
// that differ by at most two.
class BalancedSampler : public Sampler {
 public:
  explicit BalancedSampler(const std::vector<int64_t>& groups);  // of each index
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;
  std::vector<double> weights() const override;

 private:
  int64_t size_;
  std::vector<std::vector<int64_t>> members_;  // of each group
};

}  // namespace debias
