#include "debias/audit/principal_directions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr int kIterations = 12;

using Directions = std::vector<std::vector<double>>;  // each [D]

std::vector<double> column_means(std::span<const float> values, int64_t rows, int64_t dimensions) {
  std::vector<double> mean(static_cast<size_t>(dimensions));
  for (size_t i = 0; i < values.size(); ++i) mean[i % mean.size()] += values[i];
  for (double& m : mean) m /= static_cast<double>(rows);
  return mean;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// Gram and Schmidt; a direction that vanishes stays zero.
void orthonormalise(Directions& directions) {
  for (size_t i = 0; i < directions.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double along = dot(directions[i], directions[j]);
      for (size_t k = 0; k < directions[i].size(); ++k) directions[i][k] -= along * directions[j][k];
    }
    const double length = std::sqrt(dot(directions[i], directions[i]));
    for (double& value : directions[i]) value = length > 1e-12 ? value / length : 0;
  }
}

std::vector<double> centred_row(std::span<const float> values, const std::vector<double>& mean, int64_t row) {
  std::vector<double> x(mean.size());
  for (size_t k = 0; k < x.size(); ++k) x[k] = values[static_cast<size_t>(row) * x.size() + k] - mean[k];
  return x;
}

}  // namespace

std::vector<float> PrincipalDirections::project(std::span<const float> row) const {
  const std::vector<double> x = centred_row(row, mean, 0);
  std::vector<float> projections;
  for (const auto& direction : directions) projections.push_back(static_cast<float>(dot(x, direction)));
  return projections;
}

PrincipalDirections principal_directions(std::span<const float> values, int64_t rows, int64_t dimensions, uint64_t seed) {
  const std::vector<double> mean = column_means(values, rows, dimensions);
  Directions directions(static_cast<size_t>(std::min(kDirections, dimensions)), std::vector<double>(static_cast<size_t>(dimensions)));
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 3});
  for (auto& direction : directions) std::ranges::generate(direction, [&] { return random.normal(); });
  orthonormalise(directions);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Directions next(directions.size(), std::vector<double>(static_cast<size_t>(dimensions)));
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<double> x = centred_row(values, mean, row);
      for (size_t d = 0; d < directions.size(); ++d) {
        const double along = dot(x, directions[d]);
        for (size_t k = 0; k < x.size(); ++k) next[d][k] += along * x[k];
      }
    }
    orthonormalise(next);
    directions = std::move(next);
  }
  return {mean, std::move(directions)};
}

}  // namespace debias
