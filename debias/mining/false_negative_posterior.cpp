#include "debias/mining/false_negative_posterior.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr int64_t kLeastViews = 50;
constexpr double kOneDeviationBelow = 0.158655;  // of a normal distribution's mass

struct Pool {
  double sum = 0, weight = 0;
  size_t end = 0;
  double mean() const { return weight > 0 ? sum / weight : 0; }
};

void check_prior(double tau) {
  if (!(tau > 0 && tau < 1)) throw usage_error("pairs: tau_plus: {} is out of range; give a value in (0, 1)", tau);
}

std::vector<double> monotone(std::vector<double> posterior, const CosineCounts& random) {
  std::vector<double> weights;
  for (int64_t bin = 0; bin < CosineCounts::kBins; ++bin) weights.push_back(static_cast<double>(random.count(bin)));
  for (double& p : posterior) p = std::clamp(p, 0.0, 1.0);
  return isotonic(posterior, weights);
}

}  // namespace

std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<Pool> pools;
  for (size_t i = 0; i < values.size(); ++i) {
    Pool pool{values[i] * weights[i], weights[i], i + 1};
    if (pool.weight == 0 && !pools.empty()) {  // says nothing: as what is below it
      pools.back().end = pool.end;
      continue;
    }
    while (!pools.empty() && (pools.back().weight == 0 || pools.back().mean() >= pool.mean())) {
      pool.sum += pools.back().sum;
      pool.weight += pools.back().weight;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> result(values.size());
  size_t begin = 0;
  for (const Pool& pool : pools) {
    std::fill(result.begin() + static_cast<ptrdiff_t>(begin), result.begin() + static_cast<ptrdiff_t>(pool.end), pool.mean());
    begin = pool.end;
  }
  return result;
}

FalseNegativePosterior FalseNegativePosterior::from_views(const CosineCounts& random, int64_t rows, const CosineCounts& views, double tau) {
  check_prior(tau);
  if (views.total() < kLeastViews)
    throw data_error("pairs: {} pairs of views; the posterior needs at least {}", views.total(), kLeastViews);
  const std::vector<double> f = random.density(static_cast<double>(rows)), positive = views.density(static_cast<double>(views.total()));
  std::vector<double> posterior(f.size());
  for (size_t i = 0; i < f.size(); ++i) posterior[i] = f[i] > 0 ? tau * positive[i] / f[i] : 0;
  return FalseNegativePosterior(monotone(std::move(posterior), random));
}

FalseNegativePosterior FalseNegativePosterior::from_mixture(const CosineCounts& random, int64_t rows, double tau) {
  check_prior(tau);
  const std::vector<double> f = random.density(static_cast<double>(rows));
  const double mean = random.quantile(0.5 * (1 - tau)), width = 2.0 / CosineCounts::kBins;
  const double deviation = std::max(width, mean - random.quantile(kOneDeviationBelow * (1 - tau)));
  std::vector<double> posterior(f.size());
  for (size_t i = 0; i < f.size(); ++i) {
    const double z = (CosineCounts::middle_of(static_cast<int64_t>(i)) - mean) / deviation;
    const double null = std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi)) * width;
    posterior[i] = f[i] > 0 ? 1 - (1 - tau) * null / f[i] : 0;
  }
  return FalseNegativePosterior(monotone(std::move(posterior), random));
}

}  // namespace debias
