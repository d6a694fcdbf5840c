#include "debias/audit/isolated_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace debias {
namespace {

constexpr float kMostTau = 12, kDeviations = 0.4F, kLeastTau = 1.5F, kRadiusOfTau = 1.7F;
constexpr double kLeastShare = 0.04, kMostShare = 0.9, kLeastGroups = 4;
constexpr size_t kCentres = 200, kMostClusters = 16;

float squared_distance(const float* a, const float* b, size_t n) {
  float sum = 0;
  for (size_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

float deviation_of(std::span<const float> vectors, size_t dimensions) {
  std::vector<double> sum(dimensions), square(dimensions);
  for (size_t i = 0; i < vectors.size(); ++i) {
    sum[i % dimensions] += vectors[i];
    square[i % dimensions] += static_cast<double>(vectors[i]) * vectors[i];
  }
  const double rows = static_cast<double>(vectors.size() / dimensions);
  double variance = 0;
  for (size_t k = 0; k < dimensions; ++k) variance += std::max(0.0, square[k] / rows - (sum[k] / rows) * (sum[k] / rows));
  return static_cast<float>(std::sqrt(variance / static_cast<double>(dimensions)));
}

}  // namespace

float rms_distance(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(squared_distance(a.data(), b.data(), a.size()) / static_cast<float>(a.size()));
}

std::vector<IsolatedCluster> isolated_clusters(std::span<const float> vectors, int64_t dimensions, std::span<const float> weights,
                                               double isolation) {
  const auto d = static_cast<size_t>(dimensions);
  const size_t rows = weights.size();
  const float tau = std::min(kMostTau, kDeviations * deviation_of(vectors, d));
  if (tau < kLeastTau) return {};
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const float near2 = tau * tau * static_cast<float>(d), far2 = 4 * near2;
  const auto distance = [&](const std::vector<float>& centre, size_t row) { return squared_distance(centre.data(), &vectors[row * d], d); };
  std::vector<IsolatedCluster> found;
  for (size_t c = 0; c < std::min(rows, kCentres); ++c) {
    if (std::ranges::any_of(found, [&](const IsolatedCluster& other) { return other.members[c]; })) continue;
    std::vector<float> centre(vectors.begin() + static_cast<ptrdiff_t>(c * d), vectors.begin() + static_cast<ptrdiff_t>((c + 1) * d));
    std::vector<double> sum(d);
    double count = 0;
    for (size_t row = 0; row < rows; ++row) {  // one row has noise, the mean of those around it little
      if (distance(centre, row) > far2) continue;
      ++count;
      for (size_t k = 0; k < d; ++k) sum[k] += vectors[row * d + k];
    }
    if (count < kLeastGroups) continue;
    for (size_t k = 0; k < d; ++k) centre[k] = static_cast<float>(sum[k] / count);
    double near = 0, far = 0;
    std::vector<bool> members(rows);
    for (size_t row = 0; row < rows; ++row) {
      const float own = distance(centre, row);
      members[row] = own <= near2;
      near += members[row] ? weights[row] : 0;
      far += own <= far2 ? weights[row] : 0;
    }
    if (!members[c] || near < isolation * far || near < kLeastShare * all || near > kMostShare * all || near < kLeastGroups) continue;
    found.push_back({std::move(centre), kRadiusOfTau * tau, std::move(members), near});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &IsolatedCluster::groups);
  std::vector<IsolatedCluster> clusters;
  for (IsolatedCluster& cluster : found) {
    const bool known =
        std::ranges::any_of(clusters, [&](const IsolatedCluster& other) { return rms_distance(other.centre, cluster.centre) < tau; });
    if (!known && clusters.size() < kMostClusters) clusters.push_back(std::move(cluster));
  }
  return clusters;
}

}  // namespace debias
