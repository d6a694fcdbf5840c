// The number of successes in independent trials of unequal probabilities (the Poisson binomial distribution).
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

// P(X <= successes) for the sum X of Bernoulli variables with these probabilities, each in [0, 1]. The distribution is convolved trial by
// trial from terms that are all positive, so the relative error is about 1e-15 times the number of trials, also far in the tail. Tails
// below 1e-300 are 0. Takes trials * successes additions.
double poisson_binomial_tail(const std::vector<double>& probabilities, int64_t successes);

}  // namespace debias
