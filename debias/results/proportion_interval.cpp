#include "debias/results/proportion_interval.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace debias {
namespace {

constexpr double kNormal = 1.959963984540054;  // the standard normal's 97.5 % quantile

}  // namespace

std::pair<double, double> wilson_interval(const Proportion& share) {
  if (share.count == 0) return {0, 1};
  const double n = share.count, p = share.value, squared = kNormal * kNormal;
  const double middle = (p + squared / (2 * n)) / (1 + squared / n);
  const double half = kNormal / (1 + squared / n) * std::sqrt(p * (1 - p) / n + squared / (4 * n * n));
  return {std::fmax(0, middle - half), std::fmin(1, middle + half)};
}

std::pair<double, double> difference_interval(const Proportion& a, const Proportion& b) {
  const auto [low_a, high_a] = wilson_interval(a);
  const auto [low_b, high_b] = wilson_interval(b);
  const double difference = a.value - b.value;
  return {difference - std::hypot(a.value - low_a, high_b - b.value), difference + std::hypot(high_a - a.value, b.value - low_b)};
}

std::pair<double, double> difference_interval(const PairedCounts& counts) {
  const auto n = static_cast<double>(counts.images()), a = static_cast<double>(counts.both), b = static_cast<double>(counts.only_first),
             c = static_cast<double>(counts.only_second), d = static_cast<double>(counts.neither);
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
  const auto n = static_cast<double>(counts.only_first + counts.only_second);
  const int64_t fewer = std::min(counts.only_first, counts.only_second);
  double tail = 0;
  for (int64_t k = 0; k <= fewer; ++k) {
    const auto count = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(count + 1) - std::lgamma(n - count + 1) - n * std::log(2));
  }
  return std::fmin(1, 2 * tail);
}

double equal_shares_p(const Proportion& a, const Proportion& b) {
  const double pooled = (a.value * a.count + b.value * b.count) / (a.count + b.count);
  const double variance = pooled * (1 - pooled) * (1 / a.count + 1 / b.count);
  if (!(variance > 0)) return 1;
  return std::erfc(std::fabs(a.value - b.value) / std::sqrt(2 * variance));
}

}  // namespace debias
