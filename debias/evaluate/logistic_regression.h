// Logistic regression with an L2 penalty, many at a time: the same rows with other targets, other rows left out, other C.
//
//   f(w) = 1/2 |w|^2 + C sum over rows of log(1 + exp(-y (w . x)))
//
// liblinear's form: the bias is the weight of a constant feature 1, which is the last one, and pays the penalty too. Each problem has its own
// L-BFGS (ten pairs, Armijo's condition), but all take their steps together, so that values and gradients of all of them are two products of
// matrices in double. The rows X are turned once to the axes in which X'X is diagonal, lambda: there 1 + C lambda / 4 bounds the curvature
// along each axis, and L-BFGS begins with its inverse. Features that vary together, as states of a network do, cost no more steps then.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

struct LogisticSolverOptions {
  double tolerance = 1e-4;  // of the gradient's norm, relative to that at w = 0
  int64_t iterations = 1000;
};

struct LogisticFits {
  at::Tensor weights;             // double [K, D + 1]
  std::vector<double> objective;  // f of each
  int64_t evaluations = 0;        // of all problems that were still at work
  int64_t unfinished = 0;         // problems that reached `iterations`
};

class LogisticRegression {
 public:
  // rows [n, D] of any floating point type; a constant feature is appended.
  explicit LogisticRegression(const at::Tensor& rows);

  int64_t features() const { return rows_.size(1); }  // with the constant
  // targets: double [n, K] of 1 and -1, 0 where a row is left out of a problem; C of each problem; `start` [K, D + 1]: where to begin, 0
  // where undefined.
  LogisticFits fit(const at::Tensor& targets, const std::vector<double>& C, const at::Tensor& start = {},
                   const LogisticSolverOptions& options = {}) const;
  at::Tensor decisions(const at::Tensor& weights) const;  // [n, K] of the rows

 private:
  at::Tensor rows_;                // double [n, D + 1], turned
  at::Tensor axes_;                // [D + 1, D + 1], orthogonal: rows_ are the rows times it
  std::vector<double> curvature_;  // lambda / 4 of each axis
};

at::Tensor with_constant(const at::Tensor& rows);  // double [n, D + 1]

}  // namespace debias
