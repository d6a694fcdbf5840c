// Means over training seeds and differences between runs, with Student's t: what a difference has to exceed to be more than the seeds'
// spread. The values are one number of each seed; n is small, so the factor is the t quantile, 4.30 for three seeds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace debias {

struct SeedInterval {
  double mean = 0;
  double half_width = 0;  // NaN: too few values
  int64_t n = 0;          // values; of Welch's difference, of the smaller side
  // Two-sided p-value of "the true value is 0"; NaN without a spread. Below 1 - level exactly where the interval leaves 0 out.
  double p = std::numeric_limits<double>::quiet_NaN();

  double low() const { return mean - half_width; }
  double high() const { return mean + half_width; }
};

// mean +- t s / sqrt(n), s with n - 1. NaN values count for nothing; fewer than two have no half width, none no mean.
SeedInterval seed_interval(const std::vector<double>& values, double level = 0.95);

// The mean of a[i] - b[i] over seeds that both sides have; equally long lists.
SeedInterval paired_difference(const std::vector<double>& a, const std::vector<double>& b, double level = 0.95);

// mean(a) - mean(b) of different seeds, with unequal variances (Welch 1947). No half width where a side has fewer than two values.
SeedInterval welch_difference(const std::vector<double>& a, const std::vector<double>& b, double level = 0.95);

// Statistics that a paper prints of n values: their mean, and their standard deviation with n - 1.
struct SampleSummary {
  double mean = 0, deviation = 0;
  int64_t n = 0;
};
SeedInterval welch_of_summaries(const SampleSummary& a, const SampleSummary& b, double level = 0.95);

// The values of one setting, one for each seed; NaN where a seed has none.
struct SeedValues {
  std::vector<std::string> seeds;
  std::vector<double> values;
};
struct SeedDifference {
  SeedInterval interval;  // a - b
  bool paired = false;    // over the seeds that both sides have
};

// Paired where both sides have values of three common seeds or more, which draw the same first weights and batches; else Welch's over all
// values: two pairs leave one degree of freedom, whose t quantile is 12.7. A single value is compared with that of its own seed.
SeedDifference seed_difference(const SeedValues& a, const SeedValues& b, double level = 0.95);

// Many comparisons at once. At 5 % each, one in twenty true hypotheses is rejected by chance; Holm's adjustment keeps the probability of
// rejecting any true one at 5 %, whatever the dependence between the tests.

// Holm's step-down adjustment (Holm 1979): of m p-values in ascending order, the i-th (from 1) becomes
// max over j <= i of min(1, (m - j + 1) p_j). In the order given; NaN, a comparison without a test, stays NaN and is not counted in m.
std::vector<double> holm_adjusted(const std::vector<double>& p);

// The size of a difference between two accuracies in words, so that 14 and 63 points differ in the text. In points, whatever the sign:
//
//   below 5 slight · from 5 moderate · from 15 strong · from 40 very strong
inline constexpr double kSlight = 0.05, kModerate = 0.15, kStrong = 0.40;  // the upper ends

const char* size_adjective(double difference);  // "very strong"; shares from -1 to 1
const char* size_adverb(double difference);     // "very strongly"

}  // namespace debias
