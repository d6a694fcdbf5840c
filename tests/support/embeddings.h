// Small inputs for tests of objectives.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace debias {

inline at::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

// [B, V, 2] in double: 2-D unit vectors, by view and sample, at angles in degrees.
inline at::Tensor angles(const std::vector<std::vector<double>>& degrees) {
  const auto views = static_cast<int64_t>(degrees.size()), samples = static_cast<int64_t>(degrees[0].size());
  at::Tensor z = at::empty({samples, views, 2}, at::kDouble);
  auto rows = z.accessor<double, 3>();
  for (int64_t v = 0; v < views; ++v) {
    for (int64_t i = 0; i < samples; ++i) {
      const double radians = degrees[v][i] * std::numbers::pi / 180;
      rows[i][v][0] = std::cos(radians);
      rows[i][v][1] = std::sin(radians);
    }
  }
  return z;
}

// [B, V, D] in double: unit rows, views of one sample nearer to each other than to other samples.
inline at::Tensor random_embeddings(int64_t samples, int64_t views, int64_t dimensions, int64_t seed) {
  at::manual_seed(seed);
  const at::Tensor centre = at::randn({samples, 1, dimensions}, at::kDouble);
  const at::Tensor z = centre + 0.5 * at::randn({samples, views, dimensions}, at::kDouble);
  return z / z.norm(2, -1, true);
}

}  // namespace debias
