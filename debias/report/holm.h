// Many comparisons at once. At 5 % each, one in twenty true hypotheses is rejected by chance; Holm's adjustment keeps the probability of
// rejecting any true one at 5 %, whatever the dependence between the tests.
#pragma once

#include <vector>

namespace debias {

// Holm's step-down adjustment (Holm 1979): of m p-values in ascending order, the i-th (from 1) becomes
// max over j <= i of min(1, (m - j + 1) p_j). In the order given; NaN, a comparison without a test, stays NaN and is not counted in m.
std::vector<double> holm_adjusted(const std::vector<double>& p);

}  // namespace debias
