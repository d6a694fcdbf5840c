// Cross-validated balanced accuracy of closed-form classifiers: the mean over classes of the share of a class's rows that are recognised.
//
// Chance is 1/C for classes of any size. A vector goes to the class with the nearest mean in whitened space. This is linear discriminant
// analysis with equal priors under the covariance of all rows. A category goes to the class c with the largest n(c, value) / n(c). Ties,
// and values that the training folds lack, go to the first class. No factorisation depends on the labels, so the test of a permutation
// costs only sums and products.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Rows are in the order of their folds.
struct Folds {
  static constexpr int kCount = 5;
  std::array<int64_t, kCount + 1> begin{};  // first row of each fold; the last entry is the number of rows
};

// Cuts rows 0 to n - 1 into kCount runs of nearly equal length. Rows must have been shuffled without regard to their labels.
Folds folds_of(int64_t rows);

// Requires `labels[i]` in [0, classes), and every class at least once.
double balanced_accuracy(const VectorFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CategoryFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);
double balanced_accuracy(const CandidateFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes);

// Whitened features: zero mean and, except for a ridge, unit covariance over all rows. Labels are not used, so one whitening is valid for
// every fold and permutation.

// Columns are standardised (constant ones become 0); then x -> L^-1 x with L L^T = (1 - a) R + a I, R their correlations,
// a = D / (D + n) + 1e-3. `values` [rows, D].
VectorFeatures whitened(std::span<const float> values, int64_t rows, int64_t dimensions);

// Cholesky's factorisation of small symmetric matrices.
struct SquareMatrix {
  int64_t side = 0;
  std::vector<double> values;  // [side, side]

  explicit SquareMatrix(int64_t n) : side(n), values(static_cast<size_t>(n * n)) {}
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * side + j)]; }
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * side + j)]; }
};

// Replaces the lower triangle of a positive definite matrix by L of L L^T. Values above the diagonal are neither read nor written.
inline void factorise(SquareMatrix& matrix) {
  for (int64_t j = 0; j < matrix.side; ++j) {
    for (int64_t i = j; i < matrix.side; ++i) {
      double sum = matrix.at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= matrix.at(i, k) * matrix.at(j, k);
      assert(i != j || sum > 0);
      matrix.at(i, j) = i == j ? std::sqrt(sum) : sum / matrix.at(j, j);
    }
  }
}

// x -> L^-1 x, in place.
inline void solve_lower(const SquareMatrix& lower, double* x) {
  for (int64_t i = 0; i < lower.side; ++i) {
    for (int64_t k = 0; k < i; ++k) x[i] -= lower.at(i, k) * x[k];
    x[i] /= lower.at(i, i);
  }
}

}  // namespace debias
