#include "debias/features/common_offset.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace debias {

bool CommonOffset::is_large() const {
  constexpr double kLarge = 100;  // 1 - cosine is then about 1e-4 between rows, of which float32 has 3 digits
  return spread > 0 && norm > kLarge * spread;
}

CommonOffset common_offset(const FeatureVectors& vectors) {
  constexpr int64_t kMostRows = 4096;
  const int64_t n = std::min(vectors.rows(), kMostRows), D = vectors.dimensions();
  std::vector<double> sums(static_cast<size_t>(D)), squares(static_cast<size_t>(D)), first(static_cast<size_t>(D));
  std::vector<float> row(static_cast<size_t>(D));
  for (int64_t i = 0; i < n; ++i) {
    vectors.read(i * vectors.rows() / n, 1, row.data());
    for (size_t d = 0; d < row.size(); ++d) {
      if (i == 0) first[d] = row[d];
      const double value = row[d] - first[d];
      sums[d] += value;
      squares[d] += value * value;
    }
  }
  double norm = 0, spread = 0;
  for (size_t d = 0; d < row.size(); ++d) {
    const double mean = sums[d] / static_cast<double>(n);
    norm += (first[d] + mean) * (first[d] + mean);
    spread += squares[d] / static_cast<double>(n) - mean * mean;
  }
  return {std::sqrt(norm), std::sqrt(std::max(0.0, spread))};
}

}  // namespace debias
