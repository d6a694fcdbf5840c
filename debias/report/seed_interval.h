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

}  // namespace debias
