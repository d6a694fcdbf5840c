#include "debias/control/tolerance.h"

#include <cmath>

namespace debias {

// Each form is written as dm_control writes it, so that rewards agree in the last digit.
double tolerance(double x, const Tolerance& within) {
  if (within.low <= x && x <= within.high) return 1;
  if (within.margin == 0) return 0;
  const double d = (x < within.low ? within.low - x : x - within.high) / within.margin, v = within.value_at_margin;
  switch (within.sigmoid) {
    case Sigmoid::kGaussian: {
      const double scale = std::sqrt(-2 * std::log(v));
      return std::exp(-0.5 * std::pow(d * scale, 2));
    }
    case Sigmoid::kLinear: {
      const double scaled = d * (1 - v);
      return std::abs(scaled) < 1 ? 1 - scaled : 0;
    }
    case Sigmoid::kQuadratic: {
      const double scaled = d * std::sqrt(1 - v);
      return std::abs(scaled) < 1 ? 1 - scaled * scaled : 0;
    }
  }
  return 0;
}

}  // namespace debias
