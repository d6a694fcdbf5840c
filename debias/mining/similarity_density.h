// The density of the cosine of two images drawn at random.
//
// Cosines are counted in 2,000 equal bins of [-1, 1]. A density is the counts smoothed by a Gaussian of Silverman's bandwidth,
// h = 0.9 sigma m^(-1/5), at least one bin; sigma is the counts' standard deviation and m a number of independent draws, which is less
// than the number of pairs where pairs share rows. Source: Silverman, "Density Estimation", 1986, section 3.4.2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

class CosineCounts {
 public:
  static constexpr int64_t kBins = 2000;

  static int64_t bin_of(double cosine);  // cosines beyond [-1, 1] count in the outer bins
  static double middle_of(int64_t bin) { return -1 + (static_cast<double>(bin) + 0.5) * 2 / kBins; }

  CosineCounts() : count_(kBins) {}
  void add(double cosine) { ++count_[static_cast<size_t>(bin_of(cosine))]; }
  void add(const std::vector<int64_t>& counts);  // [kBins]
  int64_t total() const;
  int64_t count(int64_t bin) const { return count_[static_cast<size_t>(bin)]; }
  double quantile(double share) const;  // of `share` in (0, 1), up to a bin's width
  double standard_deviation() const;
  std::vector<double> density(double draws) const;  // [kBins], sums to 1; `draws` is m above, at least 2

 private:
  std::vector<int64_t> count_;
};

struct RandomPairs {
  CosineCounts cosines;
  std::vector<double> log_mean_exp;  // [n]: log of the mean of e^{cosine / t} over the references other than the row itself
};

// Pairs of each row of `unit` (float32 [n, D] of norm 1 or 0) with up to 2,048 reference rows drawn by `seed`. n >= 2, temperature > 0.
// The result is the same for any number of threads.
RandomPairs random_pairs(const at::Tensor& unit, double temperature, uint64_t seed);

}  // namespace debias
