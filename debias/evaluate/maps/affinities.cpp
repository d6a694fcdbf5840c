#include "debias/evaluate/maps/affinities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "debias/evaluate/neighbours/nearest_rows.h"

namespace debias {
namespace {

constexpr int64_t kSpare = 16;  // neighbours beyond k, which distances in double may bring nearer
constexpr double kTolerance = 1e-9;
constexpr int kHalvings = 200;

double squared_distance(const float* a, const float* b, int64_t dim) {
  double sum = 0;
  for (int64_t d = 0; d < dim; ++d) {
    const double difference = static_cast<double>(a[d]) - b[d];
    sum += difference * difference;
  }
  return sum;
}

// Entropy of exp(-precision * excess) / total; `weights` receives the numerators.
double entropy(std::span<const double> excess, double precision, std::vector<double>& weights) {
  double total = 0, weighted = 0;
  for (size_t j = 0; j < excess.size(); ++j) {
    weights[j] = std::exp(-precision * excess[j]);
    total += weights[j];
    weighted += weights[j] * excess[j];
  }
  return std::log(total) + precision * weighted / total;
}

}  // namespace

NearPoints nearest_points(const at::Tensor& rows, int64_t k) {
  const int64_t N = rows.size(0), D = rows.size(1);
  UnitRows unit{rows.const_data_ptr<float>(), D, std::vector<int64_t>(static_cast<size_t>(N)),
                std::vector<float>(static_cast<size_t>(N), 1)};
  std::iota(unit.rows.begin(), unit.rows.end(), int64_t{0});
  NearPoints near{N, k, std::vector<int64_t>(static_cast<size_t>(N * k)), std::vector<double>(static_cast<size_t>(N * k))};
  // The screened search sums every product in one order; a matrix product's order may depend on the threads.
  const KnnBlock block{.search = KnnSearch::kScreened};
  nearest_rows(unit, unit, std::min(N, k + 1 + kSpare), block, [&](int64_t i, const std::vector<Neighbour>& found) {
    std::vector<std::pair<double, int64_t>> others;
    for (const Neighbour& neighbour : found) {
      if (neighbour.row != i) others.emplace_back(squared_distance(unit.row(i), unit.row(neighbour.row), D), neighbour.row);
    }
    std::partial_sort(others.begin(), others.begin() + k, others.end());
    for (int64_t j = 0; j < k; ++j) std::tie(near.squared_distance[i * k + j], near.index[i * k + j]) = others[j];
  });
  return near;
}

std::vector<double> conditional_affinities(std::span<const double> squared_distance, double perplexity) {
  const double least = *std::min_element(squared_distance.begin(), squared_distance.end());
  std::vector<double> excess(squared_distance.begin(), squared_distance.end()), weights(excess.size());
  for (double& d : excess) d -= least;
  const double mean = std::accumulate(excess.begin(), excess.end(), 0.0) / static_cast<double>(excess.size());
  double low = 0, high = std::numeric_limits<double>::infinity(), precision = mean > 0 ? 1 / mean : 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double above = entropy(excess, precision, weights) - std::log(perplexity);
    if (std::abs(above) < kTolerance) break;
    (above > 0 ? low : high) = precision;
    precision = std::isinf(high) ? 2 * precision : (low + high) / 2;
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

Affinities joint_affinities(const NearPoints& near, double perplexity) {
  const int64_t N = near.points, k = near.neighbours;
  std::vector<std::vector<std::pair<int32_t, double>>> rows(static_cast<size_t>(N));
  for (int64_t i = 0; i < N; ++i) {
    const std::vector<double> conditional =
        conditional_affinities({near.squared_distance.data() + i * k, static_cast<size_t>(k)}, perplexity);
    for (int64_t j = 0; j < k; ++j) {
      const int64_t partner = near.index[i * k + j];
      const double half = conditional[j] / static_cast<double>(2 * N);
      rows[i].emplace_back(partner, half);
      rows[partner].emplace_back(i, half);
    }
  }
  Affinities joint{{0}, {}, {}};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    for (const auto& [partner, half] : row) {
      const bool is_new = joint.begin.back() == static_cast<int64_t>(joint.p.size()) || joint.partner.back() != partner;
      if (is_new) joint.partner.push_back(partner);
      if (is_new) joint.p.push_back(0);
      joint.p.back() += half;
    }
    joint.begin.push_back(static_cast<int64_t>(joint.p.size()));
  }
  return joint;
}

}  // namespace debias
