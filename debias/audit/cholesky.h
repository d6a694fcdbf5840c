// Cholesky's factorisation of small symmetric matrices.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

namespace debias {

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
