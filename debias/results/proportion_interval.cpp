#include "debias/results/proportion_interval.h"

#include <cmath>

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

}  // namespace debias
