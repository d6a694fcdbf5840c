// The directions in which a table of features varies most.
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

constexpr int64_t kDirections = 16;

// `values` [rows, D]. Returns the projections of the centred rows on the first min(kDirections, D) principal components, [rows,
// directions], by subspace iteration. Labels are not used, so permuting them does not change the directions.
std::vector<float> principal_projections(const std::vector<float>& values, int64_t rows, int64_t dimensions, uint64_t seed);

}  // namespace debias
