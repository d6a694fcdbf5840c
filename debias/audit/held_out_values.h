// Bias labels: for each row, the class that the candidate alone predicts, by a classifier that was not fitted to the row.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/audit/permutation_test.h"

namespace debias {

struct HeldOutValue {
  int32_t value = 0;       // the class
  double confidence = 0;   // its posterior probability under equal priors
  bool confident = false;  // vectors: at least 0.9; categories: 0.75, because only their class is estimated
};

// Vectors: linear discriminant analysis with the covariance within classes. Categories: n(c, value) / n(c), normalised.
std::vector<HeldOutValue> held_out_values(const CandidateFeatures& features, const LabelledRows& rows);

// The values of the rows of `features` after the labelled ones, by the same classifier, fitted to all labelled rows.
std::vector<HeldOutValue> predicted_values(const CandidateFeatures& features, const LabelledRows& rows);

double confident_share(const std::vector<HeldOutValue>& values);

}  // namespace debias
