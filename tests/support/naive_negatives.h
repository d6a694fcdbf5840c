// Weighted negatives as loops over rows, in double with raw exponentials: what hard_negatives and bayesian are checked against.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace debias::naive {

struct Negatives {
  double p = 0;           // e^s of the partner
  std::vector<double> x;  // e^s of each negative
};

struct WeightedAnchor {
  double loss = 0, effective_size = 0;
  bool used = true, clamped = false;
  double estimate = std::numeric_limits<double>::infinity();
};

struct WeightedResult {
  double value = 0, effective_size = 0;
  std::vector<double> per_anchor;  // view-major
  int64_t clamped = 0;
  double min_estimate = std::numeric_limits<double>::infinity();
};

// The anchor is view v of sample i, its partner view w.
inline Negatives negatives_of(const at::Tensor& z, int64_t i, int64_t v, int64_t w, double t) {
  const auto rows = z.accessor<double, 3>();
  const auto exponential = [&](int64_t j, int64_t x) {
    double dot = 0;
    for (int64_t d = 0; d < z.size(2); ++d) dot += rows[i][v][d] * rows[j][x][d];
    return std::exp(dot / t);
  };
  Negatives around;
  around.p = exponential(i, w);
  for (int64_t j = 0; j < z.size(0); ++j) {
    if (j == i) continue;
    around.x.push_back(exponential(j, v));
    around.x.push_back(exponential(j, w));
  }
  return around;
}

// The mean over all pairs of views; every anchor must be in use.
inline WeightedResult over_view_pairs(const at::Tensor& z, double t, const std::function<WeightedAnchor(const Negatives&)>& anchor_loss) {
  const int64_t samples = z.size(0), views = z.size(1);
  WeightedResult result;
  result.per_anchor.resize(views * samples);
  const double terms = static_cast<double>(samples * views * (views - 1));
  for (int64_t v = 0; v < views; ++v) {
    for (int64_t w = 0; w < views; ++w) {
      for (int64_t i = 0; w != v && i < samples; ++i) {
        const WeightedAnchor anchor = anchor_loss(negatives_of(z, i, v, w, t));
        result.value += anchor.loss / terms;
        result.effective_size += anchor.effective_size / terms;
        result.per_anchor[v * samples + i] += anchor.loss / static_cast<double>(views - 1);
        result.clamped += anchor.clamped;
        result.min_estimate = std::min(result.min_estimate, anchor.estimate);
      }
    }
  }
  return result;
}

// N sum(w x) / sum(w), and sum(w)^2 / sum(w^2).
struct Weighted {
  double total = 0, effective_size = 0;
};

inline Weighted weighted(const std::vector<double>& x, const std::vector<double>& w) {
  double sum = 0, weights = 0, squares = 0;
  for (size_t j = 0; j < x.size(); ++j) sum += w[j] * x[j], weights += w[j], squares += w[j] * w[j];
  return {static_cast<double>(x.size()) * sum / weights, weights * weights / squares};
}

}  // namespace debias::naive
