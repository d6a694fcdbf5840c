#include "debias/study/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/results/statistics.h"

namespace debias {
namespace {

double kolmogorov_tail(double lambda) {
  if (lambda < 0.2) return 1;  // 1 - 1e-13
  double sum = 0;
  for (int k = 1; k <= 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
  return std::clamp(sum, 0.0, 1.0);
}

KolmogorovSmirnov tested(double distance, double effective_count) {
  const double root = std::sqrt(effective_count);
  return {distance, kolmogorov_tail((root + 0.12 + 0.11 / root) * distance)};
}

}  // namespace

MeanWithError mean_with_error(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  if (values.size() < 2) return {mean, std::numeric_limits<double>::quiet_NaN(), mean, mean};
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (n - 1) / n), half = student_t_quantile(0.975, n - 1) * error;
  return {mean, error, mean - half, mean + half};
}

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
  double distance = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / m - static_cast<double>(j) / n));
  }
  return tested(distance, m * n / (m + n));
}

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, const std::function<double(double)>& distribution) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = distribution(values[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
  }
  return tested(distance, n);
}

}  // namespace debias
