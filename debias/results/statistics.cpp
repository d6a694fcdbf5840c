#include "debias/results/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace debias {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double normal_quantile(double probability) {
  double low = -40, high = 40;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (normal_distribution(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_t_quantile(double probability, double degrees) {
  if (!(probability > 0 && probability < 1 && degrees > 0)) throw std::invalid_argument("student_t_quantile: outside of its range");
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double student_t_two_sided(double t, double degrees) {
  if (!(degrees > 0)) throw std::invalid_argument("student_t_two_sided: degrees of freedom above 0 are needed");
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::fabs(t)));
}

namespace {

// `z`: the quantile of the standard normal distribution.
std::pair<double, double> score_interval(const Proportion& share, double z) {
  if (share.count == 0) return {0, 1};
  const double n = share.count, p = share.value, squared = z * z;
  const double middle = (p + squared / (2 * n)) / (1 + squared / n);
  const double half = z / (1 + squared / n) * std::sqrt(p * (1 - p) / n + squared / (4 * n * n));
  return {std::fmax(0, middle - half), std::fmin(1, middle + half)};
}

double two_sided_quantile(double level) {
  constexpr double kLevel = 0.95, kQuantile = 1.959963984540054;
  return level == kLevel ? kQuantile : normal_quantile((1 + level) / 2);
}

}  // namespace

std::pair<double, double> wilson_interval(const Proportion& share, double level) {
  return score_interval(share, two_sided_quantile(level));
}

std::pair<double, double> smallest_interval(const std::vector<Proportion>& shares, double level) {
  const double z = two_sided_quantile(std::pow(level, 1 / static_cast<double>(shares.size())));
  std::pair<double, double> smallest = {1, 1};
  for (const Proportion& share : shares) {
    const auto [low, high] = score_interval(share, z);
    smallest = {std::min(smallest.first, low), std::min(smallest.second, high)};
  }
  return smallest;
}

std::pair<double, double> difference_interval(const Proportion& a, const Proportion& b) {
  const auto [low_a, high_a] = wilson_interval(a);
  const auto [low_b, high_b] = wilson_interval(b);
  const double difference = a.value - b.value;
  return {difference - std::hypot(a.value - low_a, high_b - b.value), difference + std::hypot(high_a - a.value, b.value - low_b)};
}

std::pair<double, double> difference_interval(const PairedCounts& counts) {
  const double n = counts.images(), a = counts.both, b = counts.only_first, c = counts.only_second, d = counts.neither;
  const double first = counts.first(), second = counts.second();
  const auto [low_a, high_a] = wilson_interval({first, n});
  const auto [low_b, high_b] = wilson_interval({second, n});
  const double margins = (a + b) * (c + d) * (a + c) * (b + d), excess = a * d - b * c;
  const double corrected = excess > 0 ? std::fmax(excess - n / 2, 0) : excess;
  const double correlation = margins > 0 ? corrected / std::sqrt(margins) : 0;
  const auto added = [&](double of_a, double of_b) {
    return std::sqrt(std::fmax(0, of_a * of_a - 2 * correlation * of_a * of_b + of_b * of_b));
  };
  const double difference = first - second;
  return {difference - added(first - low_a, high_b - second), difference + added(high_a - first, second - low_b)};
}

double equal_shares_p(const PairedCounts& counts) {
  const double fewer = std::min(counts.only_first, counts.only_second), more = std::max(counts.only_first, counts.only_second);
  // The binomial distribution, which its incomplete beta function continues between whole counts.
  return more == 0 ? 1 : std::fmin(1, 2 * boost::math::ibeta(more, fewer + 1, 0.5));
}

double equal_shares_p(const Proportion& a, const Proportion& b) {
  const double pooled = (a.value * a.count + b.value * b.count) / (a.count + b.count);
  const double variance = pooled * (1 - pooled) * (1 / a.count + 1 / b.count);
  if (!(variance > 0)) return 1;
  return std::erfc(std::fabs(a.value - b.value) / std::sqrt(2 * variance));
}

}  // namespace debias
