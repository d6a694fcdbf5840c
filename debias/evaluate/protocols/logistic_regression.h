// Multinomial logistic regression, fitted until it has converged: what a linear classifier can read off features, with no step size or
// number of epochs to choose.
//
//   minimise over W [C, D], b [C]   -mean_i log softmax(s_i W^T + b)[y_i] + l2 / (2 n) |W|^2,   s = (x - mean) / deviation, per dimension
//
// That is scikit-learn's make_pipeline(StandardScaler(), LogisticRegression(C=1 / l2)); of two classes, C=2 / l2, since there it has one
// row of weights for both. Mean and deviation (over n) are those of the rows given, unless `scale` has others; a dimension that does not
// vary is left unscaled; b is not penalised. Minimised in double over all rows by L-BFGS with a strong Wolfe line search from W = b = 0,
// so that nothing is drawn; sums are made in an order that does not depend on the number of threads. The objective is strictly convex in W:
// the minimum is the only one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/core/progress.h"

namespace debias {

// Per dimension, over rows; a dimension that does not vary has the deviation 1.
struct Standardisation {
  at::Tensor mean, deviation;  // double [D]
};
Standardisation standardisation_of(const at::Tensor& x);

struct LogisticOptions {
  double l2 = 1;                           // > 0
  int64_t iterations = 1000;               // of L-BFGS, at most; >= 1
  double tolerance = 1e-5;                 // it has converged when no entry of the gradient with regard to W and b is larger
  const Standardisation* scale = nullptr;  // of other rows than those given; null: of these
};

struct LogisticFit {
  at::Tensor weight, bias;  // double [C, D] and [C], for x as given
  bool converged = false;
  int64_t iterations = 0;
  double gradient = 0;   // its largest entry, in magnitude
  double objective = 0;  // at the end

  at::Tensor logits(const at::Tensor& x) const;  // double [B, C] of x [B, D]
};

// x float32 [n, D], y [n] in [0, classes), each of which should occur. Data error when lengths differ; numeric error when the objective is
// not finite.
LogisticFit fit_logistic_regression(const at::Tensor& x, const std::vector<int64_t>& y, int64_t classes, const LogisticOptions& options,
                                    Progress& progress);

}  // namespace debias
