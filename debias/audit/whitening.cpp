#include "debias/audit/whitening.h"

#include <cmath>
#include <vector>

#include "debias/audit/cholesky.h"

namespace debias {
namespace {

constexpr double kLeastRidge = 1e-3;

std::vector<double> standardised(std::span<const float> values, int64_t rows, int64_t dimensions) {
  const auto d = static_cast<size_t>(dimensions);
  std::vector<double> mean(d), deviation(d), out(values.begin(), values.end());
  for (size_t i = 0; i < out.size(); ++i) mean[i % d] += out[i];
  for (double& m : mean) m /= static_cast<double>(rows);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] -= mean[i % d];
    deviation[i % d] += out[i] * out[i];
  }
  for (size_t k = 0; k < d; ++k) {
    deviation[k] = std::sqrt(deviation[k] / static_cast<double>(rows));
    if (deviation[k] <= 1e-6 * (1 + std::abs(mean[k]))) deviation[k] = 0;
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = deviation[i % d] > 0 ? out[i] / deviation[i % d] : 0;
  return out;
}

SquareMatrix shrunk_correlations(const std::vector<double>& x, int64_t rows, int64_t dimensions) {
  const double n = static_cast<double>(rows), d = static_cast<double>(dimensions);
  const double ridge = d / (d + n) + kLeastRidge;
  SquareMatrix matrix(dimensions);
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * dimensions;
    for (int64_t i = 0; i < dimensions; ++i) {
      for (int64_t j = 0; j <= i; ++j) matrix.at(i, j) += row[i] * row[j];
    }
  }
  for (int64_t i = 0; i < dimensions; ++i) {
    for (int64_t j = 0; j <= i; ++j) matrix.at(i, j) *= (1 - ridge) / n;
    matrix.at(i, i) += ridge;
  }
  return matrix;
}

}  // namespace

VectorFeatures whitened(std::span<const float> values, int64_t rows, int64_t dimensions) {
  std::vector<double> x = standardised(values, rows, dimensions);
  SquareMatrix lower = shrunk_correlations(x, rows, dimensions);
  factorise(lower);
  VectorFeatures out{rows, dimensions, std::vector<float>(x.size()), std::vector<float>(x.size())};
  for (int64_t r = 0; r < rows; ++r) {
    double* row = x.data() + r * dimensions;
    solve_lower(lower, row);
    for (int64_t k = 0; k < dimensions; ++k) {
      const auto value = static_cast<float>(row[k]);
      out.by_row[static_cast<size_t>(r * dimensions + k)] = value;
      out.by_dimension[static_cast<size_t>(k * rows + r)] = value;
    }
  }
  return out;
}

}  // namespace debias
