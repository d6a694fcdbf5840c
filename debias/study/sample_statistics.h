// Means with their uncertainty, and the Kolmogorov-Smirnov test.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace debias {

// The 95 % interval is Student's; with one value it has no width and standard_error is NaN.
struct MeanWithError {
  double mean = 0, standard_error = 0, low = 0, high = 0;
};

MeanWithError mean_with_error(std::span<const double> values);  // not empty

// The largest distance between distribution functions, and the chance of one at least as large were the two equal (Kolmogorov's limit
// with Stephens' small-sample factor; Numerical Recipes 14.3).
struct KolmogorovSmirnov {
  double distance = 0, p_value = 1;
};

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> a, std::vector<double> b);
KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, const std::function<double(double)>& distribution);

}  // namespace debias
