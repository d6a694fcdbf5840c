#include "debias/audit/isolated_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace debias {
namespace {

constexpr float kMostTau = 12, kDeviations = 0.4F, kLeastTau = 1.5F;
constexpr double kIsolation = 0.6, kLeastShare = 0.04, kMostShare = 0.9, kLeastGroups = 4;
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

std::vector<IsolatedCluster> isolated_clusters(std::span<const float> vectors, int64_t dimensions, std::span<const float> weights) {
  const auto d = static_cast<size_t>(dimensions);
  const size_t rows = weights.size();
  const float tau = std::min(kMostTau, kDeviations * deviation_of(vectors, d));
  if (tau < kLeastTau) return {};
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  struct Centre {
    size_t row;
    double near;
  };
  std::vector<Centre> centres;
  const float near2 = tau * tau * static_cast<float>(d), far2 = 4 * near2;
  for (size_t c = 0; c < std::min(rows, kCentres); ++c) {
    double near = 0, far = 0;
    for (size_t row = 0; row < rows; ++row) {
      const float distance = squared_distance(&vectors[c * d], &vectors[row * d], d);
      near += distance <= near2 ? weights[row] : 0;
      far += distance <= far2 ? weights[row] : 0;
    }
    if (near >= kIsolation * far && near >= kLeastShare * all && near <= kMostShare * all && near >= kLeastGroups) {
      centres.push_back({c, near});
    }
  }
  std::ranges::stable_sort(centres, std::ranges::greater{}, &Centre::near);
  std::vector<IsolatedCluster> clusters;
  for (const Centre& centre : centres) {
    if (clusters.size() == kMostClusters) break;
    if (std::ranges::any_of(clusters, [&](const IsolatedCluster& other) { return other.members[centre.row]; })) continue;
    IsolatedCluster cluster{std::vector<float>(d), 1.3F * tau, std::vector<bool>(rows), centre.near};
    double count = 0;
    for (size_t row = 0; row < rows; ++row) {
      cluster.members[row] = squared_distance(&vectors[centre.row * d], &vectors[row * d], d) <= near2;
      if (!cluster.members[row]) continue;
      ++count;
      for (size_t k = 0; k < d; ++k) cluster.centre[k] += vectors[row * d + k];
    }
    for (float& value : cluster.centre) value /= static_cast<float>(count);
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

}  // namespace debias
