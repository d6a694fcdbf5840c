// Whitened features: zero mean and, except for a ridge, unit covariance over all rows. Labels are not used, so one whitening is valid for
// every fold and permutation.
#pragma once

#include <cstdint>
#include <span>

#include "debias/audit/candidate.h"

namespace debias {

// Columns are standardised (constant ones become 0); then x -> L^-1 x with L L^T = (1 - a) R + a I, R their correlations,
// a = D / (D + n) + 1e-3. `values` [rows, D].
VectorFeatures whitened(std::span<const float> values, int64_t rows, int64_t dimensions);

}  // namespace debias
