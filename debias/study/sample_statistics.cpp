#include "debias/study/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace debias {
namespace {

// Upper 2.5 % point of Student's law: exact for 1 and 2 degrees of freedom, else the Cornish-Fisher series (error below 1 % from 3 on).
double student_point(double freedom) {
  constexpr double z = 1.959963984540054, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  if (freedom < 1.5) return 12.7062047;
  if (freedom < 2.5) return 4.30265273;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

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
  const double error = std::sqrt(squares / (n - 1) / n), half = student_point(n - 1) * error;
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
