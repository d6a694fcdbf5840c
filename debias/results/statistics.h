// The standard normal distribution.
#pragma once

#include <utility>
#include <vector>

#include "debias/results/predictions.h"

namespace debias {

double normal_distribution(double x);  // P(X <= x)

// The x with P(X <= x) = `probability` in (0, 1), to 1e-12.
double normal_quantile(double probability);

// Student's t distribution, by Boost.Math. Both throw std::invalid_argument outside of the ranges given.

// The t at which Student's distribution with `degrees` > 0 of freedom, whole or not, has `probability` in (0, 1) below it.
double student_t_quantile(double probability, double degrees);

// The probability that |T| >= |t| of Student's distribution with `degrees` > 0 of freedom, in [0, 1].
double student_t_two_sided(double t, double degrees);

// Intervals of accuracies over what was evaluated, from how many were classified correctly. Unlike percentiles of a bootstrap they have a
// width where all, or none, are right.
struct Proportion {
  double value = 0;  // in [0, 1]; may be a mean over seeds
  double count = 0;  // of what was evaluated
};

// Wilson's score interval (1927), by default of 95 %; of nothing evaluated, all of [0, 1].
std::pair<double, double> wilson_interval(const Proportion& share, double level = 0.95);

// Of the smallest of several shares, of different images: the smallest of the lower and of the upper ends of Wilson intervals that hold
// together at `level` (Sidak 1967). It contains the smallest value, and covers at least `level`. Requires one share or more.
std::pair<double, double> smallest_interval(const std::vector<Proportion>& shares, double level = 0.95);

// The 95 % interval of a.value - b.value, of different images, one or more each: the square-and-add of Wilson intervals (Newcombe 1998,
// method 10).
std::pair<double, double> difference_interval(const Proportion& a, const Proportion& b);

// That of counts.first() - counts.second(), two predictions of the same images: square-and-add of Wilson intervals with the correlation of
// the pairs (Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired data", method
// 10). One image or more.
std::pair<double, double> difference_interval(const PairedCounts& counts);

// Two-sided p-values of "both shares are equal", in [0, 1]: of the same images by the exact binomial test on those that only one predicts
// right (McNemar); of different images by the normal test with the pooled share.
double equal_shares_p(const PairedCounts& counts);
double equal_shares_p(const Proportion& a, const Proportion& b);

}  // namespace debias
