// Closeness of a number to an interval, in [0, 1]: the building block of the control suite's rewards.
#pragma once

#include <limits>

namespace debias {

enum class Sigmoid { kGaussian, kLinear, kQuadratic };

struct Tolerance {
  double low = 0, high = 0;
  double margin = 0;  // beyond which the value falls to `value_at_margin`; 0: to nothing at once
  double value_at_margin = 0.1;
  Sigmoid sigmoid = Sigmoid::kGaussian;
};

// 1 within [low, high]; else with d = distance to it / margin and v = value_at_margin
//   gaussian exp(-(d sqrt(-2 ln v))^2 / 2),  linear max(0, 1 - d (1 - v)),  quadratic max(0, 1 - d^2 (1 - v)).
double tolerance(double x, const Tolerance& within);

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

}  // namespace debias
