#include "debias/report/seed_interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// With the half width and p-value of a mean whose standard error is `error` > 0.
SeedInterval with_width(SeedInterval interval, double error, double degrees, double level) {
  interval.half_width = student_t_quantile((1 + level) / 2, degrees) * error;
  interval.p = student_t_two_sided(interval.mean / error, degrees);
  return interval;
}

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

SeedInterval seed_interval(const std::vector<double>& values, double level) {
  const Moments found = moments(values);
  SeedInterval interval{found.mean, kNone, found.n};
  if (found.n < 2) return interval;
  const auto n = static_cast<double>(found.n);
  if (found.variance > 0) return with_width(interval, std::sqrt(found.variance / n), n - 1, level);
  interval.half_width = 0;
  return interval;
}

SeedInterval paired_difference(const std::vector<double>& a, const std::vector<double>& b, double level) {
  if (a.size() != b.size()) throw std::invalid_argument("paired_difference: lists of different lengths");
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return seed_interval(differences, level);
}

SeedInterval welch_of_summaries(const SampleSummary& a, const SampleSummary& b, double level) {
  SeedInterval interval{a.mean - b.mean, kNone, std::min(a.n, b.n)};
  if (interval.n < 2) return interval;
  const auto n = static_cast<double>(a.n), m = static_cast<double>(b.n);
  const double of_a = a.deviation * a.deviation / n, of_b = b.deviation * b.deviation / m, both = of_a + of_b;
  if (both == 0) {
    interval.half_width = 0;
    return interval;
  }
  const double degrees = both * both / (of_a * of_a / (n - 1) + of_b * of_b / (m - 1));
  return with_width(interval, std::sqrt(both), degrees, level);
}

SeedInterval welch_difference(const std::vector<double>& a, const std::vector<double>& b, double level) {
  const auto summary = [](const Moments& found) { return SampleSummary{found.mean, std::sqrt(found.variance), found.n}; };
  return welch_of_summaries(summary(moments(a)), summary(moments(b)), level);
}

SeedDifference seed_difference(const SeedValues& a, const SeedValues& b, double level) {
  if (a.seeds.size() != a.values.size() || b.seeds.size() != b.values.size()) {
    throw std::invalid_argument("seed_difference: as many seeds as values are needed");
  }
  std::vector<double> of_a, of_b;
  for (size_t i = 0; i < a.seeds.size(); ++i) {
    const auto place = static_cast<size_t>(std::ranges::find(b.seeds, a.seeds[i]) - b.seeds.begin());
    if (place == b.seeds.size() || std::isnan(a.values[i]) || std::isnan(b.values[place])) continue;
    of_a.push_back(a.values[i]);
    of_b.push_back(b.values[place]);
  }
  constexpr size_t kLeastPairs = 3;
  const SeedInterval welch = welch_difference(a.values, b.values, level);
  const bool is_paired = of_a.size() >= kLeastPairs || (!of_a.empty() && welch.n == 1);
  return is_paired ? SeedDifference{paired_difference(of_a, of_b, level), true} : SeedDifference{welch, false};
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size(), NAN);
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::fmax(largest, std::fmin(1, static_cast<double>(order.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

namespace {

size_t size_class(double difference) {
  const double size = std::fabs(difference);
  return size < kSlight ? 0 : size < kModerate ? 1 : size < kStrong ? 2 : 3;
}

}  // namespace

const char* size_adjective(double difference) {
  constexpr std::array kWords = {"slight", "moderate", "strong", "very strong"};
  return kWords[size_class(difference)];
}

const char* size_adverb(double difference) {
  constexpr std::array kWords = {"slightly", "moderately", "strongly", "very strongly"};
  return kWords[size_class(difference)];
}

}  // namespace debias
