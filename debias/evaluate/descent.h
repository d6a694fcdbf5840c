// L-BFGS on one smooth, strictly convex function, driven from outside: the caller evaluates value and gradient where the descent requests
// them, so that many descents share one pass over the data.
//
//   Descent descent(start, scales);
//   while (!descent.take(value at descent.trial(), gradient at descent.trial(), bound)) {}
//   descent.point()  // the minimum
//
// Ten pairs, Armijo's condition, steps cut by parabolas. `scales` is the first approximation of the inverse Hessian's diagonal.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace debias {

class Descent {
 public:
  // `scales`: of each coordinate, the inverse of a bound on the curvature along it. `noise`: the relative rounding error of the values; a
  // step that promises no more than it, and does not go down, is the last.
  Descent(std::vector<double> start, std::vector<double> scales, double noise = 0);

  const std::vector<double>& trial() const { return trial_; }  // where value and gradient are requested
  const std::vector<double>& point() const { return point_; }  // the best so far
  double value() const { return value_; }                      // there
  int64_t iterations() const { return iterations_; }

  // True once the gradient's norm is at most `bound`, or no step goes down any more.
  bool take(double value, std::vector<double> gradient, double bound);

 private:
  struct Pair {
    std::vector<double> s, y;
    double rho = 0;
  };

  bool retreat(double value);
  void move();
  void remember(const std::vector<double>& gradient);
  void choose_direction();
  double scaled_square(const std::vector<double>& vector) const;

  std::vector<double> scales_, point_, trial_, gradient_, direction_;
  std::deque<Pair> pairs_;
  double noise_, value_ = 0, step_ = 0, slope_ = 0;
  int64_t iterations_ = 0;
  int halvings_ = 0;
  bool begun_ = false;
};

// The preconditioner of multinomial logistic regression: coordinates in which its Hessian is at most about 1, for L-BFGS (descent.h).

// M of W = V M: the inverse of the lower Cholesky factor of 1/2 covariance + l2, double [D, D]. The softmax's own part of the Hessian is at
// most 1/2 (Boehning 1992, https://doi.org/10.1007/BF00048682). One thread computes it.
at::Tensor head_preconditioner(const at::Tensor& covariance, double l2);

// The number of rows whose covariance suffices for it; with all of more rows, it would take longer than it saves.
constexpr int64_t preconditioner_rows(int64_t dimensions) { return std::max<int64_t>(5000, 4 * dimensions); }

}  // namespace debias
