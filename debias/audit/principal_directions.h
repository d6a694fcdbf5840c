// The directions in which a table of features varies most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace debias {

constexpr int64_t kDirections = 16;

struct PrincipalDirections {
  std::vector<double> mean;                     // [D]
  std::vector<std::vector<double>> directions;  // orthonormal, each [D]

  std::vector<float> project(std::span<const float> row) const;  // of the centred row, a value for each direction
};

// `values` [rows, D]. The first min(kDirections, D) principal components of the centred rows, by subspace iteration. Labels are not used, so
// permuting them does not change the directions.
PrincipalDirections principal_directions(std::span<const float> values, int64_t rows, int64_t dimensions, uint64_t seed);

}  // namespace debias
