#include "debias/report/seed_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace debias {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The continued fraction of the incomplete beta function (Press et al., Numerical Recipes, section 6.4), by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  constexpr int kMostTerms = 1000;
  const auto away_from_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::fabs(d * c - 1) < kEnough) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  return x < (a + 1) / (a + b + 2) ? std::exp(log_front) * beta_fraction(a, b, x) / a
                                   : 1 - std::exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

// The probability above t > 0.
double upper_tail(double t, double degrees) { return 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)); }

struct Moments {
  double mean = kNone, variance = kNone;  // the variance with n - 1
  int64_t n = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments found;
  double sum = 0, squares = 0, largest = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    largest = std::fmax(largest, std::fabs(value));
    ++found.n;
  }
  if (found.n == 0) return found;
  found.mean = sum / static_cast<double>(found.n);
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - found.mean) * (value - found.mean);
  }
  if (found.n > 1) found.variance = squares / static_cast<double>(found.n - 1);
  constexpr double kRounding = 1e-12;  // of numbers that are differences of others as large as 1
  if (found.variance < std::pow(kRounding * std::fmax(largest, 1e-3), 2)) found.variance = 0;
  return found;
}

}  // namespace

double student_t_quantile(double probability, double degrees) {
  if (!(probability > 0 && probability < 1 && degrees > 0)) throw std::invalid_argument("student_t_quantile: outside of its range");
  if (probability < 0.5) return -student_t_quantile(1 - probability, degrees);
  const double tail = 1 - probability;
  if (tail == 0.5) return 0;
  double low = 0, high = 1;
  while (upper_tail(high, degrees) > tail) high *= 2;
  for (int halving = 0; halving < 200 && high - low > 1e-14 * high; ++halving) {
    const double middle = (low + high) / 2;
    (upper_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

SeedInterval seed_interval(const std::vector<double>& values, double level) {
  const Moments found = moments(values);
  SeedInterval interval{found.mean, kNone, found.n};
  if (found.n > 1) {
    const auto n = static_cast<double>(found.n);
    interval.half_width = student_t_quantile((1 + level) / 2, n - 1) * std::sqrt(found.variance / n);
  }
  return interval;
}

SeedInterval paired_difference(const std::vector<double>& a, const std::vector<double>& b, double level) {
  if (a.size() != b.size()) throw std::invalid_argument("paired_difference: lists of different lengths");
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return seed_interval(differences, level);
}

SeedInterval welch_difference(const std::vector<double>& a, const std::vector<double>& b, double level) {
  const Moments first = moments(a), second = moments(b);
  SeedInterval interval{first.mean - second.mean, kNone, std::min(first.n, second.n)};
  if (interval.n < 2) return interval;
  const auto n = static_cast<double>(first.n), m = static_cast<double>(second.n);
  const double of_first = first.variance / n, of_second = second.variance / m, both = of_first + of_second;
  if (both == 0) {
    interval.half_width = 0;
    return interval;
  }
  const double degrees = both * both / (of_first * of_first / (n - 1) + of_second * of_second / (m - 1));
  interval.half_width = student_t_quantile((1 + level) / 2, degrees) * std::sqrt(both);
  return interval;
}

}  // namespace debias
