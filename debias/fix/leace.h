// LEACE as the package concept-erasure fits it by default (Belrose et al. 2023, arXiv 2306.03819; LeaceFitter of version 0.2.4). It serves
// as a comparison, because it also removes what the bias shares with the label.
//
// It is unweighted, ignores classes and uses rows that are not standardised. S is over n rows, shrunk by the optimal linear shrinkage of
// Bodnar et al. (arXiv 1308.2608). The cross covariance is over n - 1. Singular values up to 0.01 are not erased. If the projection would
// raise the trace of the covariance, it is mixed with the orthogonal projection so as to keep the trace.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/fix/erasure.h"
#include "debias/fix/standard_rows.h"

namespace debias {

// Moments of rows before standardisation.
struct LeaceMoments {
  at::Tensor mean;        // [D]
  at::Tensor covariance;  // [D, D], over n
  at::Tensor cross;       // [D, K], with the bias columns, over n - 1
  int64_t count = 0;      // n
};

// `z` is double [rows, K]. Uses the rows where `used` [rows] is true, at least two, in blocks.
LeaceMoments leace_moments(const StandardRows& rows, const at::Tensor& z, const at::Tensor& used);
AffineErasure leace(const LeaceMoments& moments);

}  // namespace debias
