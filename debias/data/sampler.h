// The order in which an epoch visits a data set: a function of (seed, epoch).
#pragma once

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
};

class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;

 private:
  int64_t size_;
};

class ShuffledSampler : public Sampler {  // a fresh permutation each epoch
 public:
  explicit ShuffledSampler(int64_t size) : size_(size) {}
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;

 private:
  int64_t size_;
};

class WeightedSampler : public Sampler {  // `count` draws with replacement, index i with probability proportional to weights[i]
 public:
  WeightedSampler(std::vector<double> weights, int64_t count);
  std::vector<Visit> epoch(uint64_t seed, uint64_t epoch) const override;

 private:
  std::vector<double> cumulative_;
  int64_t count_;
};

}  // namespace debias
