#include "debias/fix/poisson_binomial.h"

#include <algorithm>
#include <numeric>

namespace debias {

double poisson_binomial_tail(const std::vector<double>& probabilities, int64_t successes) {
  const int64_t trials = std::ssize(probabilities);
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  std::vector<double> chance(static_cast<size_t>(successes) + 1);  // of k successes in the trials so far
  chance[0] = 1;
  size_t possible = 0;
  for (const double p : probabilities) {
    possible = std::min(possible + 1, chance.size() - 1);
    for (size_t k = possible; k > 0; --k) chance[k] = chance[k] * (1 - p) + chance[k - 1] * p;
    chance[0] *= 1 - p;
  }
  return std::min(1.0, std::accumulate(chance.begin(), chance.end(), 0.0));
}

}  // namespace debias
