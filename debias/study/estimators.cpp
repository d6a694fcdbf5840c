#include "debias/study/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "debias/losses/weighted.h"

namespace debias {
namespace {

std::vector<double> weights_of(BayesianForm form, double beta, const EstimatorOptions& options, int64_t negatives) {
  const RankWeighting weighting{.form = form, .tau_plus = options.tau_plus, .alpha = options.alpha, .beta = beta};
  std::vector<double> weights(static_cast<size_t>(negatives));
  for (int64_t rank = 1; rank <= negatives; ++rank) weights[static_cast<size_t>(rank - 1)] = rank_weight(weighting, rank, negatives);
  return weights;
}

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

struct Weighted {
  double weights = 0, values = 0;
};

// Sums of v and v x, v = weights(rank) (x / largest)^beta.
Weighted weighted_sums(std::span<const double> ascending, std::span<const double> weights, double beta) {
  Weighted sums;
  const double largest = ascending.back();
  for (size_t first = 0; first < ascending.size();) {
    size_t last = first;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[first]) ++last;
    const double x = ascending[first], count = static_cast<double>(last - first + 1);
    const double v = count * weights[last] * (beta == 0 ? 1 : std::pow(x / largest, beta));
    sums.weights += v;
    sums.values += v * x;
    first = last + 1;
  }
  return sums;
}

}  // namespace

double tilted_mean(std::span<const double> values, double beta) {
  if (beta == 0) return sum(values) / static_cast<double>(values.size());
  const double largest = *std::max_element(values.begin(), values.end());
  double weights = 0, weighted = 0;
  for (const double x : values) {
    const double w = beta == 1 ? x / largest : std::pow(x / largest, beta);
    weights += w;
    weighted += w * x;
  }
  return weighted / weights;
}

double ranked_mean(std::span<const double> ascending, std::span<const double> weights, double beta) {
  const Weighted sums = weighted_sums(ascending, weights, beta);
  return sums.weights > 0 ? sums.values / sums.weights : tilted_mean(ascending, beta);
}

AnchorEstimators::AnchorEstimators(const EstimatorOptions& options, int64_t negatives)
    : options_(options),
      paper_(weights_of(BayesianForm::kPaper, options.beta, options, negatives)),
      corrected_(weights_of(BayesianForm::kCorrected, options.beta, options, negatives)),
      authors_(weights_of(BayesianForm::kAuthors, options.authors_beta, options, negatives)) {}

Estimates AnchorEstimators::operator()(const AnchorValues& anchor) const {
  const double n = static_cast<double>(anchor.values.size()), tau_plus = options_.tau_plus, tau_minus = 1 - tau_plus;
  const double total = sum(anchor.values), mean = total / n, p = anchor.mean_positive;
  const auto without_own = [&](double estimate) { return (estimate - tau_plus * p) / tau_minus; };
  const auto at_least = [&](double estimate) { return std::isnan(estimate) ? estimate : std::max(estimate, options_.least); };
  const auto positive = [&](double numerator) {
    return tau_plus > 0 ? at_least(numerator / tau_plus) : std::numeric_limits<double>::quiet_NaN();
  };
  Estimates out{};
  const auto set = [&](Estimator estimator, double value) { out[static_cast<size_t>(estimator)] = value; };
  set(Estimator::kBiased, mean);
  set(Estimator::kDebiased, without_own(mean));
  set(Estimator::kDebiasedFloor, at_least(without_own(mean)));
  set(Estimator::kHard, at_least(without_own(tilted_mean(anchor.values, options_.hard_beta))));
  set(Estimator::kBayesianPaper, ranked_mean(anchor.values, paper_, options_.beta));
  set(Estimator::kBayesianCorrected, ranked_mean(anchor.values, corrected_, options_.beta));
  set(Estimator::kBayesianAuthors, weighted_sums(anchor.values, authors_, 0).values / n);
  set(Estimator::kOracle, anchor.oracle);
  set(Estimator::kPositiveEq12, positive((total + p + options_.self) / (n + 2) - tau_minus * mean));
  set(Estimator::kPositiveSum, positive((total + p + options_.self - tau_minus * total) / n));
  set(Estimator::kPositiveOracle, positive(mean - tau_minus * anchor.oracle));
  return out;
}

}  // namespace debias
