// LEACE as the package concept-erasure fits it by default (Belrose et al. 2023, arXiv 2306.03819; LeaceFitter of version 0.2.4): for
// comparison, since it also removes what the bias shares with the label.
//
// Unweighted, from rows that are not standardised and without classes: S over n rows, shrunk by the optimal linear shrinkage of Bodnar et
// al. (arXiv 1308.2608), cross covariance over n - 1, singular values up to 0.01 left alone, and where the projection would raise the trace
// of the covariance, the mixture with the orthogonal projection that keeps it.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/fix/erasure.h"

namespace debias {

// x double [n, D], z double [n, K], n >= 2.
AffineErasure leace(const at::Tensor& x, const at::Tensor& z);

}  // namespace debias
