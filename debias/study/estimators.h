// Estimates of the objectives for one anchor, as numbers: the mean of e^s over its true negatives, or over its own class.
//
// x_1..x_N are e^s of an anchor's unlabelled samples, p_1..p_K those of its positives, tau_minus = 1 - tau_plus.
//
//   biased            mean x                                                                      infonce
//   debiased          g = (mean x - tau_plus mean p) / tau_minus                                  debiased_negatives, clamp none
//   debiased_floor    max(g, least)                                                               debiased_negatives, clamp floor
//   hard              (sum x^{beta + 1} / sum x^beta - tau_plus mean p) / tau_minus, at least `least`   hard_negatives
//   bayesian_paper, bayesian_corrected    sum v x / sum v, v = p(true | rank) x^beta              bayesian, forms paper and corrected
//   bayesian_authors  mean of omega(rank) x, not normalised                                       bayesian, form authors
//   oracle            mean of x over true negatives, by their labels                              unbiased (rescale)
// and of the mean over the anchor's own class, each at least `least`:
//   positive_eq12     ((sum x + p + self) / (N + 2) - tau_minus mean x) / tau_plus                debiased_positives, form eq12
//   positive_sum      (sum x + p + self - tau_minus sum x) / (N tau_plus)                         debiased_positives, form sum
//   positive_oracle   (mean x - tau_minus oracle) / tau_plus            eq. 12 with its averages over the right laws
// p is mean p there. With tau_plus = 0 the three are NaN: nothing of the anchor's class is among the samples.
//
// Sources: the objectives' headers. Weights by rank are the objectives' own function (weighted.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

enum class Estimator {
  kBiased,
  kDebiased,
  kDebiasedFloor,
  kHard,
  kBayesianPaper,
  kBayesianCorrected,
  kBayesianAuthors,
  kOracle,
  kPositiveEq12,
  kPositiveSum,
  kPositiveOracle
};
inline constexpr size_t kEstimators = 11;
inline bool estimates_positive(Estimator estimator) { return estimator >= Estimator::kPositiveEq12; }

constexpr auto enum_words(Estimator) {
  return named("biased", "debiased", "debiased_floor", "hard", "bayesian_paper", "bayesian_corrected", "bayesian_authors", "oracle",
               "positive_eq12", "positive_sum", "positive_oracle");
}

struct EstimatorOptions {
  double tau_plus = 0.1;      // [0, 1)
  double alpha = 0.9;         // [0.5, 1], of the bayesian forms
  double beta = 0;            // >= 0, of forms paper and corrected
  double authors_beta = 0.5;  // [0.5, 1], of form authors; 0.5 only debiases
  double hard_beta = 1;       // >= 0, of hard
  double least = 0;           // the least value of e^s; e^{-1/t} for unit rows
  double self = 0;            // e^s of the anchor with itself; e^{1/t} for unit rows
};

using Estimates = std::array<double, kEstimators>;  // by Estimator; NaN where there is none

// Observations of an anchor. `values` in ascending order.
struct AnchorValues {
  std::span<const double> values;
  double mean_positive = 0;
  double oracle = 0;  // mean over true negatives; NaN if there are none
};

// Estimators of one setting for a fixed N: weights by rank are computed once.
class AnchorEstimators {
 public:
  AnchorEstimators(const EstimatorOptions& options, int64_t negatives);
  Estimates operator()(const AnchorValues& anchor) const;

 private:
  EstimatorOptions options_;
  std::vector<double> paper_, corrected_, authors_;  // by rank - 1
};

// sum x^{beta + 1} / sum x^beta; the largest x in the limit.
double tilted_mean(std::span<const double> values, double beta);
// sum v x / sum v with v = weights(rank) x^beta; tied values share the largest rank. 0 / 0 is the tilted mean, as in the objective.
double ranked_mean(std::span<const double> ascending, std::span<const double> weights, double beta);

}  // namespace debias
