// The probability that a negative pair is of one class, from its cosine alone (Bayesian self-supervised contrastive learning, eq. 11 and
// 12):
//
//   P(s) = tau f+(s) / (tau f+(s) + (1 - tau) f-(s)) = tau f+(s) / f(s),   f = tau f+ + (1 - tau) f- the density of random pairs
//
// `tau` is the class prior, the probability that a random pair is of one class. Labels are not used.
//
//   from views     f+ is the density of the cosines of two views of one image, as in the loss itself.
//   from mixture   without views, f- is an empirical null (Efron 2004, "Large-scale simultaneous hypothesis testing: the choice of a null
//                  hypothesis"): a normal density fitted to the lower half of the random pairs, where pairs of one class are rare. Its mean
//                  is the 0.5 (1 - tau) quantile of all random pairs and its deviation reaches from there to the 0.1587 (1 - tau) quantile.
//                  P = 1 - (1 - tau) f- / f, one minus the local false discovery rate.
//
// P is made monotone in s by isotonic regression, weighted by the random pairs, and keeps its last value above the largest of their
// cosines. Assumption of the mixture: cosines of pairs of two classes are normal up to their upper tail.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

// The density of the cosine of two images drawn at random.
//
// Cosines are counted in 2,000 equal bins of [-1, 1]. A density is the counts smoothed by a Gaussian of Silverman's bandwidth,
// h = 0.9 sigma m^(-1/5), at least one bin; sigma is the counts' standard deviation and m a number of independent draws, which is less
// than the number of pairs where pairs share rows. Source: Silverman, "Density Estimation", 1986, section 3.4.2.
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

class FalseNegativePosterior {
 public:
  // `rows` is the number of rows of the random pairs. Usage error unless 0 < tau < 1; data error for fewer than 50 pairs of views.
  static FalseNegativePosterior from_views(const CosineCounts& random, int64_t rows, const CosineCounts& views, double tau);
  static FalseNegativePosterior from_mixture(const CosineCounts& random, int64_t rows, double tau);

  double operator()(double cosine) const { return by_bin_[static_cast<size_t>(CosineCounts::bin_of(cosine))]; }  // in [0, 1]

 private:
  explicit FalseNegativePosterior(std::vector<double> by_bin) : by_bin_(std::move(by_bin)) {}
  std::vector<double> by_bin_;  // [kBins], ascending
};

// The nearest non-decreasing values in the weighted sum of squares (pool adjacent violators). Weights of 0 have no effect; if all are 0,
// the values are 0. `values` and `weights` have the same length.
std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights);

}  // namespace debias
