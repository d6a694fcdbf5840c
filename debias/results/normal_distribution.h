// The standard normal distribution.
#pragma once

namespace debias {

double normal_distribution(double x);  // P(X <= x)

// The x with P(X <= x) = `probability` in (0, 1), to 1e-12.
double normal_quantile(double probability);

}  // namespace debias
