#include "debias/results/normal_distribution.h"

#include <cmath>

namespace debias {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double normal_quantile(double probability) {
  double low = -40, high = 40;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (normal_distribution(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace debias
