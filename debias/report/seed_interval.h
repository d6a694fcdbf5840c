// Means over training seeds and differences between runs, with Student's t: what a difference has to exceed to be more than the seeds'
// spread. The values are one number of each seed; n is small, so the factor is the t quantile, 4.30 for three seeds.
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

struct SeedInterval {
  double mean = 0;
  double half_width = 0;  // NaN: it cannot be told from so few values
  int64_t n = 0;          // values; of Welch's difference, of the smaller side

  double low() const { return mean - half_width; }
  double high() const { return mean + half_width; }
};

// The t at which Student's distribution with `degrees` > 0 of freedom, whole or not, has `probability` in (0, 1) below it.
double student_t_quantile(double probability, double degrees);

// mean +- t s / sqrt(n), s with n - 1. NaN values count for nothing; fewer than two have no half width, none no mean.
SeedInterval seed_interval(const std::vector<double>& values, double level = 0.95);

// The mean of a[i] - b[i] over seeds that both sides have; equally long lists.
SeedInterval paired_difference(const std::vector<double>& a, const std::vector<double>& b, double level = 0.95);

// mean(a) - mean(b) of different seeds, with unequal variances (Welch 1947). No half width where a side has fewer than two values.
SeedInterval welch_difference(const std::vector<double>& a, const std::vector<double>& b, double level = 0.95);

}  // namespace debias
