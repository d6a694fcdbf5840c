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

#include <cstdint>
#include <vector>

#include "debias/mining/similarity_density.h"

namespace debias {

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
